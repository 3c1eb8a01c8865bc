"""Fourier transforms: O(n log n) by any factorisation, of which the least is not known.

Counted are 3 n log2 n - 5 n FLOP per complex transform, below the best published count of 34/9 n log2 n (Johnson and
Frigo, IEEE Trans. Signal Processing 55, 2007), and half of it for real data. Factors may be matrices (as matrix units
multiply them), so the FLOP are matrix FLOP.
"""

from math import log2, prod

from enlist.tools.solar.work import Call, Rule, Work


def _transform(call: Call) -> Work:
    source, out = call.first(), call.out()
    whole = out if call.node.op == "_fft_c2r" else source
    dims = call.attribute("dim", [-1])
    sizes = [whole.shape[int(d)] for d in (dims if isinstance(dims, list) else [dims])]
    points = prod(sizes)
    each = max(0.0, 3 * points * log2(max(1, points)) - 5 * points)
    flop = int(each) * (whole.elements // max(1, points))
    return Work("vector", matrix_flop=flop if call.node.op == "_fft_c2c" else flop // 2)


RULES: dict[str, Rule] = dict.fromkeys(("_fft_c2c", "_fft_r2c", "_fft_c2r"), _transform)
