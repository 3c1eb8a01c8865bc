"""What each operator costs at least: FLOP by kind of unit, elements read and written.

FLOP counts two for a multiply and an add (never MACs). Matrix products and convolutions count what the operator as
written needs, without padding and without the masked half of causal attention; faster algorithms (Strassen, Winograd,
FFT) are outside. Vector FLOP are the fewest per element that we know of (`ELEMENTWISE`, `REDUCTIONS`, `NORMS`): a
special function counts as one, which is loose. Integer and boolean work counts no FLOP.
"""

from collections.abc import Mapping
from math import prod

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.extent import causal_pairs, triangle, window_pairs, window_touched
from enlist.tools.solar.rules.structure import BORDER, NEEDED, VISIBLE, pairs
from enlist.tools.solar.work import Call, Nest, Rule, Work

ELEMENTWISE: Mapping[str, int] = {
    **dict.fromkeys((
        "add", "sub", "rsub", "mul", "div", "pow", "square", "maximum", "minimum", "fmod", "remainder", "floor_divide",
        "neg", "abs", "sign", "floor", "ceil", "round", "trunc", "reciprocal", "sqrt", "rsqrt", "exp", "exp2", "expm1",
        "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "erf", "atan2", "relu", "leaky_relu", "prelu",
        "clamp_min", "clamp_max", "threshold", "eq", "ne", "lt", "le", "gt", "ge", "true_divide", "multiply",
        "subtract", "divide", "acos", "asin", "atan", "sinh", "cosh", "fill"), 1),
    **dict.fromkeys(("clamp", "hardtanh", "relu6", "addcmul", "addcdiv", "lerp", "elu", "celu", "softplus", "xlogy",
                     "log_sigmoid_forward", "hardshrink", "softshrink"), 2),
    **dict.fromkeys(("sigmoid", "silu", "hardswish", "hardsigmoid", "mish"), 3),
    **dict.fromkeys(("gelu", "glu"), 4),
}
"""FLOP per element of the output."""

REDUCTIONS: Mapping[str, int] = {
    **dict.fromkeys(("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod", "cumsum", "cumprod",
                     "logcumsumexp", "nansum", "aminmax"), 1),
    **dict.fromkeys(("linalg_vector_norm", "norm"), 2),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean", "logsumexp", "mse_loss", "smooth_l1_loss", "huber_loss"), 3),
}
"""FLOP per element of the first input. Variance: one for the sum, two for the sum of squares."""

NORMS: Mapping[str, int] = {
    "softmax": 5, "_softmax": 5, "log_softmax": 5, "_log_softmax": 5,  # max, subtract, exp, sum, divide (or subtract)
    "layer_norm": 5, "native_layer_norm": 5, "group_norm": 5, "native_group_norm": 5,  # sum, squares (2), scale, shift
    "_native_batch_norm_legit": 5, "rms_norm": 3, "_fused_rms_norm": 3,
    "_native_batch_norm_legit_no_training": 2, "batch_norm": 2,  # known statistics fold into one scale and one shift
}
"""FLOP per element of the first input, without the affine part where that cannot be folded in."""

IN_PLACE = frozenset(("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", "index_put",
                      "scatter", "scatter_add", "index_copy", "index_add", "masked_scatter"))
"""In-place writes after functionalisation: only the written part moves, the rest stays where it is."""

PRODUCTS = ("linear", "mm", "addmm", "bmm", "baddbmm", "matmul", "mv", "dot", "_int_mm")
"""Matrix products."""

CONVOLUTIONS = (*(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)), "convolution")
"""Convolutions, turned or not."""

_CREATE = ("arange", "full", "zeros", "ones", "empty", "eye", "linspace", "scalar_tensor", "new_zeros", "new_ones",
           "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like", "rand", "randn", "randint",
           "rand_like", "randn_like", "bernoulli", "tril_indices", "triu_indices")
_COPY = ("clone", "copy", "cat", "stack", "constant_pad_nd", "_to_copy", "repeat", "flip", "roll", "diag_embed",
         "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d", "contiguous", "sort", "topk",
         "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_not",
         "bitwise_xor", "all", "any", "isnan", "isinf", "pixel_shuffle", "channel_shuffle")
_GATHER = ("index", "_unsafe_index", "index_select", "gather", "take", "nll_loss_forward", "upsample_nearest1d",
           "upsample_nearest2d", "upsample_nearest3d")


def _matmul(call: Call) -> Work:
    """Products of the last two dimensions; what structure makes zero, or nobody needs, is not multiplied."""
    left, right = call.tensor("mat1", "batch1", "input", "self"), call.tensor(
        "mat2", "batch2", "weight", "other", "vec2", "vec", "tensor")
    assert left is not None
    out = call.out()
    inner = left.shape[-1]
    if right is None or len(left.shape) < 2 or len(right.shape) < 2:
        rows = out.elements
        return Work("matmul", matrix_flop=2 * inner * rows, nests=(Nest(1, rows, 1, inner),))
    turned = call.node.op == "linear"
    structure = right.structure
    if turned:
        structure = {"upper": "lower", "lower": "upper"}.get(structure, structure)  # type: ignore[assignment]
    columns = out.shape[-1]
    flat = len(right.shape) == 2  # all leading dimensions of the left operand are rows
    rows = out.elements // max(1, columns) if flat else out.shape[-2]
    batch = 1 if flat else prod(out.shape[:-2])
    needed = str(call.attribute(NEEDED, ""))
    if min(rows, columns) == 1 and inner <= FEW:
        return Work("vector", vector_flop=2 * batch * rows * inner * columns)
    if flat and len(left.shape) > 2 and (left.structure != "dense" or needed):
        rows, batch = left.shape[-2], prod(left.shape[:-2])
    counted = pairs(rows, inner, columns, left.structure, structure, needed)
    dense = rows * inner * columns
    kinds = [f"{t.structure} {t.name or 'operand'}" for t in (left, right) if t.structure not in ("dense", "constant")]
    less = ", ".join([*kinds, *([f"only the {needed} triangle is used"] if needed else [])]) if counted < dense else ""
    reads = {t.id: batch_of(t) * kept(t) for t in (left, right) if t.structure in _TRIANGLES}
    return Work("matmul", matrix_flop=2 * batch * counted, less=less, reads=reads,
                nests=() if less else (Nest(batch, rows, columns, inner),),
                equation="...mk,nk->...mn" if turned else "...mk,...kn->...mn")


FEW = 16
"""A sum of so few scaled vectors is no matrix product: the factors may be folded into what it sums."""
_TRIANGLES = ("upper", "lower", "diagonal", "zero")


def batch_of(tensor: Tensor) -> int:
    """Matrices in a tensor, an expanded dimension counted once."""
    return prod(n for n, s in zip(tensor.shape[:-2], tensor.strides[:-2], strict=True) if s)


def kept(tensor: Tensor) -> int:
    """Elements of one matrix that its structure leaves."""
    rows, columns = tensor.shape[-2:]
    if tensor.structure == "zero":
        return 0
    if tensor.structure == "diagonal":
        return min(rows, columns)
    return triangle(rows, columns, 0, tensor.structure == "upper")


def _windows(call: Call, count: int, length: tuple[int, ...], windows: tuple[int, ...], kernel: list[int],
             stride: list[int]) -> list[tuple[int, int, int, int, int, int]]:
    dilation = call.per_dimension("dilation", 1, count)
    padding = call.attribute("padding", 0)
    if isinstance(padding, str):
        pads = [d * (k - 1) // 2 if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
    else:
        pads = call.per_dimension("padding", 0, count)
    return list(zip(length, windows, kernel, stride, pads, dilation, strict=True))


def _dimensions(call: Call, source: Tensor, weight: Tensor, out: Tensor) -> tuple[list[tuple[int, ...]], bool, int]:
    """Per spatial dimension (length, windows, kernel, stride, padding, dilation), whether turned, and the batch. Zeros
    that a pad operator put around the input count as padding too (`border`)."""
    count = len(weight.shape) - 2
    turned = bool("transpose" in call.node.op or call.attribute("transposed", False))
    inner, outer = source.shape[-count:], out.shape[-count:]
    length, windows = (outer, inner) if turned else (inner, outer)
    made = _windows(call, count, length, windows, list(weight.shape[2:]), call.per_dimension("stride", 1, count))
    border = call.attribute(BORDER, None)
    if border and not turned:
        made = [(size - before - after, w, k, s, p + before, d) for (size, w, k, s, p, d), (before, after) in zip(
            made, border, strict=True)]
    return list(made), turned, source.shape[0] if len(source.shape) == count + 2 else 1


def convolution_flop(call: Call, source: Tensor, weight: Tensor, out: Tensor) -> int:
    """FLOP of a convolution without what falls on padding."""
    dimensions, _, batch = _dimensions(call, source, weight, out)
    return 2 * batch * weight.shape[0] * weight.shape[1] * prod(window_pairs(*d) for d in dimensions)


def _convolution(call: Call) -> Work:
    source, weight = call.tensor("input", "self"), call.tensor("weight")
    assert source is not None and weight is not None
    dimensions, turned, batch = _dimensions(call, source, weight, call.out())
    flop = convolution_flop(call, source, weight, call.out())
    windows = prod(d[1] for d in dimensions)
    less = ("padding is not multiplied" if prod(window_pairs(*d) for d in dimensions)
            < prod(weight.shape[2:]) * windows else "")
    groups = max(1, int(call.attribute("groups", 1)))
    channels = weight.shape[0] // groups
    nest = Nest(groups, batch * windows, weight.shape[1] if turned else channels,
                channels if turned else weight.shape[1] * prod(weight.shape[2:]))
    used = prod(sum(window_pairs(d[0], d[1], 1, d[3], d[4] - tap * d[5], 1) > 0 for tap in range(d[2]))
                for d in dimensions)  # taps that fall inside for some window
    reads = {weight.id: weight.shape[0] * weight.shape[1] * used}
    if turned:
        return Work("convolution", matrix_flop=flop, less=less, nests=(nest,), reads=reads)
    inner = prod(d[0] for d in dimensions)
    touched = source.distinct * prod(window_touched(*d) for d in dimensions) // max(1, prod(
        source.shape[-len(dimensions):]))
    return Work("convolution", matrix_flop=flop, reads=reads | {source.id: touched}, nests=(nest,), less=less or (
        "no window touches a part of the input" if touched < batch * source.shape[-len(dimensions) - 1] * inner
        else ""))


def _attention(call: Call) -> Work:
    query, key, value = call.tensor("query"), call.tensor("key"), call.tensor("value")
    assert query is not None and key is not None and value is not None
    queries, keys = query.shape[-2], key.shape[-2]
    causal = bool(call.attribute("is_causal", False))
    heads = prod(call.out().shape[:-2])
    visible, mask = call.attribute(VISIBLE, None), call.tensor("attn_mask")
    if visible is not None and mask is not None:  # the mask broadcasts over the heads that it does not have
        each = heads // max(1, prod(mask.shape[:-2])) if mask.shape[-2:] == (queries, keys) else 0
        pairs = int(visible) * each or heads * queries * keys
    else:
        pairs = heads * (causal_pairs(queries, keys) if causal else queries * keys)
    seen = min(queries, keys) if causal else keys
    return Work("attention", matrix_flop=2 * pairs * (query.shape[-1] + value.shape[-1]),
                vector_flop=3 * pairs, special=pairs,  # max, subtract, sum and exp; one division per output row
                less="causal half" if causal else "mask of positions" if pairs < heads * queries * keys else "",
                reads={t.id: t.distinct * seen // max(1, keys) for t in (key, value)} if seen < keys else {})


def _norm(call: Call) -> Work:
    affine = 0 if "batch_norm" in call.node.op or "group_norm" in call.node.op else sum(
        call.tensor(slot) is not None for slot in ("weight", "bias"))
    return Work("vector", vector_flop=(NORMS[call.node.op] + affine) * call.first().elements)


def _elementwise(call: Call) -> Work:
    return Work("vector", vector_flop=ELEMENTWISE[call.node.op] * call.out().elements)


def _reduction(call: Call) -> Work:
    return Work("vector", vector_flop=REDUCTIONS[call.node.op] * call.first().elements)


def _pool(call: Call) -> Work:
    source = call.first()
    if "adaptive" in call.node.op:
        return Work("vector", vector_flop=source.elements)
    count = int(next(c for c in call.node.op if c.isdigit()))
    kernel = call.per_dimension("kernel_size", 1, count)
    stride = call.per_dimension("stride", 1, count) if call.attribute("stride", []) else kernel
    inner = source.shape[-count:]
    dimensions = _windows(call, count, inner, call.out().shape[-count:], kernel, stride)
    touched = source.elements * prod(window_touched(*d) for d in dimensions) // max(1, prod(inner))
    return Work("vector", vector_flop=touched, reads={source.id: min(touched, source.distinct)}, less=(
        "no window touches a part of the input" if touched < source.distinct else ""))


def _copy(call: Call) -> Work:
    return Work("move")


def _select_by_data(call: Call) -> Work:
    """Which of the operands is needed where depends on the condition's data."""
    return Work("move", surely={t: 0 for t, s in zip(call.node.inputs, call.node.slots, strict=True)
                                if s not in ("condition", "mask")})


def _gather(call: Call) -> Work:
    source = call.first()
    return Work("move", reads={source.id: min(call.out().elements, source.distinct)}, surely={source.id: 0})


def _embedding(call: Call) -> Work:
    """Rows are taken as different; one row is the most that is sure for any ids."""
    weight, ids = call.tensor("weight"), call.tensor("indices")
    assert weight is not None and ids is not None
    rows, width = min(ids.elements, weight.shape[0]), weight.shape[-1]
    return Work("move", reads={weight.id: rows * width}, surely={weight.id: width if rows else 0})


def _scatter(call: Call) -> Work:
    base, source = call.first(), call.tensor("src", "values", "source")
    written = min(source.elements, base.distinct) if source is not None else 0
    sure = written if call.node.op.endswith("_scatter") and call.node.op != "masked_scatter" else 0
    return Work("move", reads={base.id: 0}, surely={base.id: 0}, writes=sure)


def _triangle(call: Call) -> Work:
    source = call.first()
    rows, columns = source.shape[-2:]
    kept = triangle(rows, columns, int(call.attribute("diagonal", 0)), call.node.op == "triu")
    return Work("move", reads={source.id: source.distinct * kept // max(1, rows * columns)})


_POOLS = [f"{p}pool{n}d{s}" for p in ("max_", "avg_", "adaptive_avg_", "_adaptive_avg_") for n in (1, 2, 3)
          for s in ("", "_with_indices")]
RULES: dict[str, Rule] = {
    **dict.fromkeys(PRODUCTS, _matmul),
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(NORMS, _norm),
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(_POOLS, _pool),
    **dict.fromkeys((*_CREATE, *_COPY), _copy),
    **dict.fromkeys(("where", "masked_fill"), _select_by_data),
    **dict.fromkeys(_GATHER, _gather),
    "embedding": _embedding,
    **dict.fromkeys(IN_PLACE, _scatter),
    **dict.fromkeys(("triu", "tril"), _triangle),
}

WHOLE = frozenset(RULES) - {"batch_norm", "contiguous", "repeat", "pixel_shuffle", "channel_shuffle", "norm"}
"""Operators that capture does not take apart; the others that are composite become these."""
