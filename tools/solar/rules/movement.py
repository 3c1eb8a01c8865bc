"""Copies, and tensors made of nothing: bytes, no FLOP.

A tensor that is made "like" another reads nothing of it. What pads and triangles keep of their input is all that they
read.
"""

from math import prod

from enlist.tools.solar.rules.extent import triangle
from enlist.tools.solar.work import Call, Rule, Work

MADE = ("arange", "full", "zeros", "ones", "empty", "eye", "linspace", "logspace", "scalar_tensor", "new_zeros",
         "new_ones", "new_full", "new_empty", "new_empty_strided", "zeros_like", "ones_like", "full_like", "empty_like",
         "empty_strided", "empty_permuted", "rand", "randn", "randint", "randperm", "rand_like", "randn_like",
         "randint_like", "tril_indices", "triu_indices", "hann_window", "hamming_window", "blackman_window",
         "bartlett_window", "kaiser_window", "normal", "uniform", "exponential", "log_normal", "cauchy", "geometric",
         "random", "zero", "fill", "normal_functional", "fft_fftfreq", "fft_rfftfreq", "_efficientzerotensor", "range")
"""Operators that read nothing of what their result is like."""
_COPIES = ("clone", "cat", "_cat", "stack", "_stack", "_chunk_cat", "constant_pad_nd", "_to_copy", "repeat", "flip",
           "roll", "rot90", "diag_embed", "contiguous", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle",
           "native_channel_shuffle", "repeat_interleave", "block_diag", "lift", "lift_fresh_copy", "_pin_memory",
           "_unsafe_view", "_reshape_alias", "tile", "view_copy", "expand_copy", "permute_copy", "slice_copy",
           "select_copy", "transpose_copy", "t_copy", "unsqueeze_copy", "squeeze_copy", "as_strided_copy",
           "_conj_copy", "unfold_copy", "diagonal_copy", "split_copy", "bernoulli", "multinomial", "binomial",
           "poisson", "cartesian_prod", "to_padded_tensor", "vander", "_convert_weight_to_int4pack",
           *(f"{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3)))


def _made(call: Call) -> Work:
    """Reads nothing, whatever it is like; `fill` reads its value."""
    return Work("move", reads={t: 0 for t, s in zip(call.node.inputs, call.node.slots, strict=True) if s == "self"})


def _copy(call: Call) -> Work:
    """Every element that reaches the output is read; cropping reads no more than it keeps."""
    first = call.node.inputs[:1]
    if len(call.node.inputs) != 1:
        return Work("move")
    kept = call.graph.by_id[first[0]]
    written = sum(call.graph.by_id[t].elements for t in call.node.outputs)
    return Work("move", reads={kept.id: min(kept.distinct, written)} if written < kept.distinct else {})


def _over(call: Call) -> Work:
    """What is overwritten is not read."""
    return Work("move", reads={call.first().id: 0} if call.tensor("src", "source") is not None else {})


def _triangle(call: Call) -> Work:
    source = call.first()
    rows, columns = source.shape[-2:]
    kept = triangle(rows, columns, int(call.attribute("diagonal", 0)), call.node.op == "triu")
    return Work("move", reads={source.id: source.distinct * kept // max(1, rows * columns)})


def _select_by_data(call: Call) -> Work:
    """Which of the operands is needed where depends on the condition's data."""
    return Work("move", surely={t: 0 for t, s in zip(call.node.inputs, call.node.slots, strict=True)
                                if s not in ("condition", "mask")})


def _unfold(call: Call) -> Work:
    """Windows side by side: each position that lies in one is read once."""
    return Work("move")


def _fold(call: Call) -> Work:
    """Windows are added where they overlap."""
    source, out = call.first(), call.out()
    return Work("vector", vector_flop=max(0, source.elements - prod(out.shape)))


RULES: dict[str, Rule] = {
    **dict.fromkeys(MADE, _made), **dict.fromkeys(_COPIES, _copy), "copy": _over,
    **dict.fromkeys(("triu", "tril"), _triangle), **dict.fromkeys(("where", "masked_fill"), _select_by_data),
    "im2col": _unfold, "unfold": _unfold, "col2im": _fold, "fold": _fold}
