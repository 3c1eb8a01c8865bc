"""Reductions and scans: adding n numbers takes n - 1 additions, and a scan of n as many.

Repeated elements of an expanded operand are taken once. Sorting and selecting are comparisons whose least number
depends on the data; they count bytes only.
"""

from collections.abc import Mapping
from math import prod

from enlist.tools.solar.rules.elements import floating, is_floating, outputs
from enlist.tools.solar.work import Call, Rule, Work

REDUCE: Mapping[str, tuple[int, int, int, int]] = {
    **dict.fromkeys(("sum", "nansum", "amax", "amin", "max", "min", "argmax", "argmin", "aminmax", "prod", "trace",
                     "median", "nanmedian", "kthvalue"), (1, 0, 0, 0)),
    "mean": (1, 1, 0, 0),
    **dict.fromkeys(("var", "var_mean"), (3, 2, 0, 0)), **dict.fromkeys(("std", "std_mean"), (3, 2, 0, 1)),
    "logsumexp": (3, 1, 1, 1), "dist": (3, 0, 0, 1), "native_norm": (2, 0, 0, 1), "frobenius_norm": (2, 0, 0, 1),
}
"""FLOP for each element beyond the first of its group and for each result; evaluations for each element and for each
result. Variance: one FLOP for the sum, two for the sum of squares, two to finish; logsumexp: greatest, difference,
sum."""

_SCANS = {"cumsum": (1, 0), "cumprod": (1, 0), "cummax": (1, 0), "cummin": (1, 0), "_cummax_helper": (1, 0),
          "_cummin_helper": (1, 0), "logcumsumexp": (2, 1), "_logcumsumexp": (2, 1)}
_BYTES_ONLY = ("all", "any", "count_nonzero", "sort", "topk", "mode", "histc", "bincount", "nonzero", "_unique2",
               "unique_consecutive", "unique_dim", "argsort", "msort", "_is_all_true", "_is_any_true", "equal")


def _reduction(call: Call) -> Work:
    source, out = call.first(), call.out()
    if call.node.op in ("max", "min") and call.tensor("other") is not None:
        return Work("vector", vector_flop=out.elements if floating(call) else 0)
    group = source.elements // max(1, out.elements)
    if not is_floating(source) and not is_floating(out):
        return Work("vector", group=group)
    each, last, special, special_last = REDUCE[call.node.op]
    count, results = source.distinct, min(out.elements, source.distinct)
    launches = 5 if call.node.op == "logsumexp" else 1
    return Work("vector", vector_flop=each * max(0, count - results) + last * results,
                special=special * count + special_last * results, group=group, launches=launches)


def _scan(call: Call) -> Work:
    source = call.first()
    if not is_floating(call.out()):
        return Work("vector")
    flop, special = _SCANS[call.node.op]
    size = source.shape[int(call.attribute("dim", 0))] if source.shape else 1
    steps = source.elements - source.elements // max(1, size)
    return Work("vector", vector_flop=flop * steps, special=special * steps)


def _vector_norm(call: Call) -> Work:
    """L1 and infinity: a sum or maximum of magnitudes; L2: squares, sums and a root; others a power of each element."""
    source, out = call.first(), call.out()
    order = call.attribute("ord", call.attribute("p", 2))
    order = float(order) if isinstance(order, int | float | str) else 2.0
    steps = max(0, source.distinct - out.elements)
    group = source.elements // max(1, out.elements)
    if order in (1.0, 0.0, float("inf"), float("-inf")):
        return Work("vector", vector_flop=steps, group=group)
    if order == 2.0:
        return Work("vector", vector_flop=source.distinct + steps, special=out.elements, group=group)
    return Work("vector", vector_flop=steps, special=source.distinct + out.elements, group=group)


def _norms_of_list(call: Call) -> Work:
    return Work("vector", vector_flop=sum(2 * call.graph.by_id[t].elements for t in call.node.inputs),
                special=len(outputs(call)))


def _distances(call: Call) -> Work:
    """All pairs of rows: for p = 2 a matrix product (|x|^2 + |y|^2 - 2 x.y), else a difference and a sum."""
    left, right, out = call.tensor("x1", "self"), call.tensor("x2"), call.out()
    if left is None:
        return Work("vector")
    width, order = left.shape[-1], call.attribute("p", 2.0)
    if order == 2 and right is not None:
        return Work("matmul", matrix_flop=2 * out.elements * width, special=out.elements)
    return Work("vector", vector_flop=2 * out.elements * width if order in (1, 2) else out.elements * width,
                special=out.elements if order == 2 else 0)


def _bytes_only(call: Call) -> Work:
    return Work("move")


def _trace(call: Call) -> Work:
    """Reads the diagonal only."""
    source = call.first()
    count = min(source.shape[-2:]) * prod(source.shape[:-2])
    return Work("vector", vector_flop=max(0, count - 1) if is_floating(source) else 0, reads={source.id: count})


RULES: dict[str, Rule] = {
    **dict.fromkeys(REDUCE, _reduction), **dict.fromkeys(_SCANS, _scan), **dict.fromkeys(_BYTES_ONLY, _bytes_only),
    **dict.fromkeys(("linalg_vector_norm", "norm"), _vector_norm), "_foreach_norm": _norms_of_list, "trace": _trace,
    **dict.fromkeys(("_cdist_forward", "_euclidean_dist", "_pdist_forward"), _distances),
}
