"""What each primitive of JAX costs at least: FLOP by kind of unit, elements read and written.

FLOP as in `rules.aten`: two for a multiply and an add, nothing for integers; elementwise work is in `elements`. What
padding, dilation or a mask of positions makes zero is not multiplied. Linear algebra has the closed forms of Golub and
Van Loan, "Matrix Computations" (4th ed.); what has no minimum that is known to us (eigenvalues, singular values) is
not modelled.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import floor, log2, prod
from typing import Any

from enlist.tools.solar.jaxpr import elements
from enlist.tools.solar.jaxpr.elements import left
from enlist.tools.solar.rules.collectives import collective
from enlist.tools.solar.rules.elements import floating
from enlist.tools.solar.rules.extent import window_pairs, window_touched
from enlist.tools.solar.work import Call, Nest, Rule, Work

KEPT = "kept_shares"
"""The attribute of a selection that says which share of its two cases a mask takes."""

IN_PLACE = frozenset(f"lax.{n}" for n in (
    "dynamic_update_slice", "scatter", *(f"scatter{s}{k}" for s in "-_" for k in ("add", "sub", "mul", "min", "max"))))
"""Writes into a part of the first operand, the rest of which stays where it is."""

_FREE = ("and", "or", "xor", "not", "shift_left", "shift_right_logical", "shift_right_arithmetic", "population_count",
         "clz", "real", "imag", "complex", "conj", "convert_element_type", "concatenate", "pad", "rev", "iota", "sort",
         "top_k", "approx_top_k", "random_bits", "random_seed", "random_fold_in", "random_split", "random_clone",
         "threefry2x32", "rng_bit_generator", "rng_uniform", "select_and_scatter_add", "select_and_gather_add",
         "select_and_scatter", "reduce_and", "reduce_or", "reduce_xor", "copy", "eq_to", "le_to", "lt_to", "filled",
         "axis_index", "empty", "clone", "tile", "unstack", "platform_index", "bitcast_convert_type",
         "mulhi", "nextafter", "is_finite", "reduce_precision", "fill")

def _move(call: Call) -> Work:
    return Work("move")


def _product(call: Call) -> Work:
    """Any `dot_general`: batch dimensions beside, free dimensions of both sides, contracted ones summed over."""
    mine, right = call.tensor("0"), call.tensor("1")
    known = mine or right
    if known is None:
        return Work("vector", vector_flop=2 * call.out().elements)
    side = 0 if mine is not None else 1
    contract: Any = call.attribute("contract", [[], []])
    batch: Any = call.attribute("batch", [[], []])
    inner = prod(known.shape[d] for d in contract[side])
    many = prod(known.shape[d] for d in batch[side])
    out = call.out().elements
    rows = prod(n for d, n in enumerate(mine.shape) if d not in contract[0] + batch[0]) if mine is not None else 1
    columns = out // max(1, many * rows)
    dense = 2 * out * inner
    flop = left(call, dense)
    if call.attribute("one_hot", None) is not None:
        return _picked(call)
    if not contract[side]:  # an outer or elementwise product
        return Work("vector", vector_flop=out)
    if min(rows, columns) == 1 and inner <= FEW:
        return Work("vector", vector_flop=flop)
    return Work("matmul", matrix_flop=flop, multiply=call.attribute("multiply", None),
                less="mask of positions" if flop < dense else "",
                nests=(Nest(many, rows, columns, inner),) if flop == dense else (), equation="...mk,...kn->...mn")


def _picked(call: Call) -> Work:
    """A product with one-hot rows picks or sorts rows of the other operand: nothing need be multiplied, and where rows
    are picked, all may be the same one."""
    side = int(call.attribute("one_hot", 0))
    table, picks = call.tensor(str(1 - side)), bool(call.attribute("picks", False))
    if table is None or not picks:
        return Work("move", less="one-hot operand")
    contract: Any = call.attribute("contract", [[], []])
    length = max(1, prod(table.shape[d] for d in contract[1 - side]))
    return Work("move", less="one-hot operand", reads={table.id: min(table.distinct, call.out().elements)},
                surely={table.id: min(table.distinct, table.elements // length)})


def _ragged(call: Call) -> Work:
    """Rows in groups, each with a matrix of its own; group sizes are taken to add up to all rows. One group may have
    all of them, so that one matrix is what any run reads."""
    right, out, groups = call.tensor("1"), call.out(), call.attribute("group_dims", [])
    inner = int(call.attribute("inner", 1))
    if right is None:
        return Work("matmul")
    if not groups:
        return Work("matmul", matrix_flop=2 * inner * out.elements // max(1, out.shape[0]))
    count = prod(right.shape[int(d)] for d in groups)
    each = right.distinct // max(1, count)
    rows = out.elements // max(1, out.shape[-1])
    return Work("matmul", matrix_flop=2 * inner * out.elements, reads={right.id: each * min(count, rows)},
                surely={right.id: each}, multiply=call.attribute("multiply", None), less="routed rows only")


FEW = 16
"""A sum of so few scaled vectors is no matrix product: the factors may be folded into what it sums."""


def _convolution(call: Call) -> Work | None:
    """Taps that fall on padding or between dilated elements are not multiplied."""
    source, weight, out = call.tensor("0"), call.tensor("1"), call.out()
    if source is None or weight is None:
        return None
    read: Any = {k: call.attribute(k, []) for k in (
        "lhs_spec", "rhs_spec", "out_spec", "strides", "padding", "lhs_dilation", "rhs_dilation", "border")}
    groups, batch_groups = int(call.attribute("groups", 1)), int(call.attribute("batch_groups", 1))
    pairs = kernels = windows = touched = used = 1
    length = 1
    for d in range(len(read["strides"])):
        size, taps = source.shape[read["lhs_spec"][2 + d]], weight.shape[read["rhs_spec"][2 + d]]
        many = out.shape[read["out_spec"][2 + d]]
        before = read["padding"][d][0]
        inside = size
        if read["border"]:
            first, last = read["border"][d]
            inside, before = size - first - last, before + first
        shape = (inside, many, taps, read["strides"][d], before, read["rhs_dilation"][d], read["lhs_dilation"][d])
        pairs *= _pairs(*shape)
        touched *= _touched(*shape)
        used *= _taps_used(*shape)
        kernels, windows, length = kernels * taps, windows * many, length * size
    channels = weight.shape[read["rhs_spec"][1]]  # per group
    outputs, batch = weight.shape[read["rhs_spec"][0]], source.shape[read["lhs_spec"][0]] // batch_groups
    flop = 2 * batch * outputs * channels * pairs
    less = "padding is not multiplied" if pairs < kernels * windows else ""
    nest = Nest(groups * batch_groups, batch * windows, outputs // (groups * batch_groups), channels * kernels)
    return Work("convolution", matrix_flop=flop, less=less, nests=(nest,), reads={
        source.id: min(source.distinct, source.elements * touched // max(1, length)),
        weight.id: min(weight.distinct, weight.elements * used // max(1, kernels))})


def _pairs(length: int, windows: int, kernel: int, stride: int, padding: int, dilation: int, spread: int) -> int:
    """Pairs (window, tap) that fall on an element of the input, whose elements lie `spread` apart."""
    if spread == 1:
        return window_pairs(length, windows, kernel, stride, padding, dilation)
    return sum(_hits(length, w * stride - padding + tap * dilation, spread)
               for tap in range(kernel) for w in range(windows))


def _hits(length: int, position: int, spread: int) -> bool:
    return 0 <= position <= (length - 1) * spread and position % spread == 0


def _touched(length: int, windows: int, kernel: int, stride: int, padding: int, dilation: int, spread: int) -> int:
    if spread == 1:
        return window_touched(length, windows, kernel, stride, padding, dilation)
    seen = {w * stride - padding + tap * dilation for w in range(windows) for tap in range(kernel)}
    return sum(_hits(length, position, spread) for position in seen)


def _taps_used(length: int, windows: int, kernel: int, stride: int, padding: int, dilation: int, spread: int) -> int:
    return sum(_pairs(length, windows, 1, stride, padding - tap * dilation, 1, spread) > 0 for tap in range(kernel))


def _pool(call: Call) -> Work:
    source = call.first()
    read: Any = {k: call.attribute(k, []) for k in ("window", "strides", "padding", "base_dilation", "window_dilation")}
    touched = 1
    for d, (size, many) in enumerate(zip(source.shape, call.out().shape, strict=True)):
        touched *= _touched(size, many, read["window"][d], read["strides"][d], read["padding"][d][0],
                            read["window_dilation"][d], read["base_dilation"][d])
    return Work("vector", vector_flop=touched, reads={source.id: min(touched, source.distinct)}, less=(
        "no window touches a part of the input" if touched < source.distinct else ""))


def _select(call: Call) -> Work:
    """Which of the cases is needed where depends on the condition's data, unless that follows from positions."""
    kept: Any = call.attribute(KEPT, None)
    cases = {t: int(s) - 1 for t, s in zip(call.node.inputs, call.node.slots, strict=True) if s != "0"}
    if kept is None:
        return Work("move", surely=dict.fromkeys(cases, 0))
    of = {t: call.graph.by_id[t].distinct * int(kept[c][0]) // max(1, int(kept[c][1])) for t, c in cases.items()}
    return Work("move", reads=of)


def _gather(call: Call) -> Work:
    """Parts are taken as different; one is the most that is sure for any indices, unless these are known."""
    source, out, part = call.tensor("0"), call.out(), int(call.attribute("part", 0))
    if source is None:
        return Work("move")
    known = int(call.attribute("different", 0)) * part
    likely = min(known or out.elements, source.distinct)
    return Work("move", reads={source.id: likely},
                surely={source.id: min(known or (part if out.elements else 0), source.distinct)})


def _update(call: Call) -> Work:
    """A slice is written, wherever it lies."""
    base, update = call.first(), call.tensor("1")
    return Work("move", reads={base.id: 0}, surely={base.id: 0},
                writes=min(update.elements if update else int(base.elements > 0), base.elements))


def _scatter(call: Call) -> Work:
    """Indices that depend on data may all lie outside, where nothing is written."""
    base, updates = call.first(), call.tensor("2")
    many = min(updates.elements if updates else 0, base.elements)
    sums = call.node.op != "lax.scatter" and floating(call)
    return Work("vector", vector_flop=many if sums else 0, reads={base.id: many if sums else 0}, surely={base.id: 0},
                writes=many if call.attribute("known", False) else 0)


def _stack(call: Call) -> Work:
    """Parts lie where the body wrote them; a view of something else is copied."""
    part = call.first()
    if call.attribute("fresh", False):
        return Work("move", reads={part.id: 0}, surely={part.id: 0}, writes=0)
    return Work("move", writes=part.elements)


def _matrices(call: Call) -> tuple[int, int, int]:
    shape = call.first().shape
    return prod(shape[:-2]), shape[-2], shape[-1]


def _cholesky(call: Call) -> Work:
    """n^3/3 + n^2/2 + n/6 in all, of which the roots are n (algorithm 4.2.1)."""
    many, n, _ = _matrices(call)
    source = call.first()
    return Work("matmul", matrix_flop=many * (n * (n + 1) * (2 * n + 1) // 6 - n), special=many * n,
                reads={source.id: source.distinct * (n + 1) // max(1, 2 * n)}, less="one triangle is read")


def _solve(call: Call) -> Work:
    """n^2 m for m right-hand sides (section 3.1): for each, n(n-1) products and sums and n divisions."""
    matrix = call.tensor("0")
    out = call.out()
    n = out.shape[-2 if call.attribute("left_side", True) else -1]
    reads = {matrix.id: matrix.distinct * (n + 1) // max(1, 2 * n)} if matrix else {}
    return Work("matmul", matrix_flop=out.elements * n, reads=reads, less="triangular operands")


def _lu(call: Call) -> Work:
    """Elimination of an m x n matrix: the sum over k of (m - k) + 2 (m - k)(n - k) (algorithm 3.2.1)."""
    many, m, n = _matrices(call)
    flop = sum((m - k) + 2 * (m - k) * (n - k) for k in range(1, min(m, n) + 1))
    return Work("matmul", matrix_flop=many * flop)


def _householder(call: Call) -> Work:
    """2 n^2 (m - n/3) for the factorisation of an m x n matrix (section 5.2)."""
    many, m, n = _matrices(call)
    m, n = max(m, n), min(m, n)
    return Work("matmul", matrix_flop=many * (2 * n * n * m - 2 * n * n * n // 3))


def _fft(call: Call) -> Work:
    """The fewest operations known for N complex points, 34/9 N lg N - 124/27 N - 2 lg N (Johnson and Frigo, IEEE Trans.
    Signal Processing 55, 2007, leading terms); half for real ones."""
    lengths: Any = call.attribute("lengths", [])
    points = prod(lengths)
    kind = str(call.attribute("kind", "FFT"))
    if not points or points < 2:
        return Work("move")
    tensor = call.out() if kind == "IRFFT" else call.first()
    batch = prod(tensor.shape[: len(tensor.shape) - len(lengths)])
    flop = max(0.0, 34 / 9 * points * log2(points) - 124 / 27 * points - 2 * log2(points))
    return Work("vector", vector_flop=floor(batch * flop / (2 if "RFFT" in kind else 1)))


def _collective(kind: str) -> Rule:
    def rule(call: Call) -> Work:
        return collective(kind, int(call.attribute("peers", 1)))

    return rule


COLLECTIVES: Mapping[str, str] = {f"lax.{name}": kind for name, kind in {
    **dict.fromkeys(("psum", "psum2", "psum_invariant", "pmax", "pmin", "pmax_invariant"), "all_reduce"),
    **dict.fromkeys(("all_gather", "all_gather_invariant", "all_gather_reduced"), "all_gather"),
    **dict.fromkeys(("reduce_scatter", "psum_scatter", "unreduced_reduce_scatter"), "reduce_scatter"),
    "all_to_all": "all_to_all", "ragged_all_to_all": "all_to_all", "ppermute": "send"}.items()}
"""What moves between devices, by operator."""

def _scaled(call: Call) -> Work:
    """A product of operands with a scale per block, transposed on the right: multiplied in the operands' own dtype."""
    return Work("matmul", matrix_flop=2 * call.out().elements * call.first().shape[-1], multiply=call.first().dtype)


_PARTS = {"complex64": "float32", "complex128": "float64"}
_COMPLEX = {"lax.mul": 6, "lax.add": 2, "lax.sub": 2, "lax.reduce_sum": 2, "lax.cumsum": 2, "lax.add_any": 2}


def _of_parts(rule: Rule) -> Rule:
    """Complex numbers: a product has four products and two sums of reals, a product and a sum of matrices four each."""
    def counted(call: Call) -> Work | None:
        made = rule(call)
        part = next((_PARTS[d] for t in (*call.node.inputs, *call.node.outputs) if (
            d := call.graph.by_id[t].dtype) in _PARTS), None)
        if made is None or part is None:
            return made
        return replace(made, multiply=part, matrix_flop=4 * made.matrix_flop,
                       vector_flop=_COMPLEX.get(call.node.op, 1) * made.vector_flop)

    return counted


_TABLE: dict[str, Rule] = {f"lax.{name}": rule for name, rule in {
    **elements.RULES, **dict.fromkeys(_FREE, _move),
    "dot_general": _product, "conv_general_dilated": _convolution, "select_n": _select, "gather": _gather,
    **dict.fromkeys((f"reduce_window{k}" for k in ("", "_sum", "_max", "_min", "_mul", "_prod")), _pool),
    "stack": _stack, "cholesky": _cholesky, "triangular_solve": _solve, "lu": _lu, "geqrf": _householder,
    "qr": _householder, "householder_product": _householder, "ragged_dot_general": _ragged, "fft": _fft,
    "dynamic_update_slice": _update, "scaled_matmul_wrapper": _scaled, "scaled_matmul": _scaled,
}.items()} | {
    **{name: _collective(kind) for name, kind in COLLECTIVES.items()},
    **dict.fromkeys(IN_PLACE - {"lax.dynamic_update_slice"}, _scatter)}

RULES: dict[str, Rule] = {name: _of_parts(rule) for name, rule in _TABLE.items()}
