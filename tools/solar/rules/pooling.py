"""Pooling: every position that a window reads takes part in one comparison or addition at least.

From T positions that are read, W different results need max(T - W, W) operations: each result must join what its window
reads, and is itself made by one (windows of one element need none). An average scales each result besides.
"""

from math import prod

from enlist.tools.solar.rules.windows import touched, windows
from enlist.tools.solar.work import Call, Rule, Work

_WINDOWS = [f"{kind}pool{n}d{more}" for kind in ("max_", "avg_") for n in (1, 2, 3)
            for more in ("", "_with_indices") if kind == "max_" or not more]
_ADAPTIVE = [f"{mark}adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3) for mark in ("", "_")]


def _operations(read: int, results: int, average: bool) -> int:
    if read <= results:
        return 0
    return max(read - results, results) + (results if average else 0)


def _pool(call: Call) -> Work:
    source, out = call.first(), call.out()
    count = int(next(c for c in call.node.op if c.isdigit()))
    kernel = call.per_dimension("kernel_size", 1, count)
    stride = call.per_dimension("stride", 1, count) if call.attribute("stride", []) else kernel
    inner = source.shape[-count:]
    dimensions = windows(call, inner, out.shape[-count:], kernel, stride)
    planes = source.elements // max(1, prod(inner))
    read = planes * touched(dimensions)
    flop = _operations(read, out.elements, call.node.op.startswith("avg")) if read > out.elements else (
        out.elements if prod(kernel) > 1 else 0)
    kept = min(read, source.distinct)
    return Work("vector", vector_flop=flop, reads={source.id: kept},
                less="no window touches a part of the input" if read < source.distinct else "")


def _adaptive(call: Call) -> Work:
    source, out = call.first(), call.out()
    return Work("vector", vector_flop=_operations(source.elements, out.elements, "avg" in call.node.op))


def _fractional(call: Call) -> Work:
    """Where the windows lie is drawn: they read what they must at least, one position for each result."""
    source, out = call.first(), call.out()
    return Work("vector", vector_flop=0, surely={source.id: min(source.distinct, out.elements)})


def _unpool(call: Call) -> Work:
    return Work("move")


RULES: dict[str, Rule] = {
    **dict.fromkeys(_WINDOWS, _pool), **dict.fromkeys(_ADAPTIVE, _adaptive), "quantized_max_pool2d": _pool,
    "fractional_max_pool2d": _fractional, "fractional_max_pool3d": _fractional, "max_unpool2d": _unpool,
    "max_unpool3d": _unpool}
