"""Softmax and normalisation: statistics of each group of elements, and then each element again.

Softmax of n: greatest (n - 1), differences (n), sum (n - 1), scaling (n), an exponential per element, a reciprocal per
group;
log-softmax subtracts instead of scaling and takes a logarithm per group. Layer norm: sum (1), squares (2), and the
normalisation as one fused multiply-add (2), then weight and bias; RMS norm: squares (2), scaling (1). Group and
instance norm have one weight per channel, which folds into the scale and shift of the group. Known statistics of batch
norm fold into one scale and one shift. One reciprocal root per group.
"""

from collections.abc import Mapping
from math import prod

from enlist.tools.solar.work import Call, Rule, Work

FLOP: Mapping[str, int] = {
    **dict.fromkeys(("layer_norm", "native_layer_norm", "group_norm", "native_group_norm", "_native_batch_norm_legit",
                     "_native_batch_norm_legit_functional", "_batch_norm_with_update", "cudnn_batch_norm",
                     "miopen_batch_norm", "native_batch_norm"), 5),
    **dict.fromkeys(("rms_norm", "_fused_rms_norm"), 3),
    **dict.fromkeys(("_native_batch_norm_legit_no_training", "batch_norm", "_batch_norm_no_update"), 2),
}
"""FLOP per element, without weights that cannot be folded in."""

_KNOWN = ("_native_batch_norm_legit_no_training", "batch_norm", "_batch_norm_no_update")
_SOFTMAX = ("softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax", "_masked_softmax")


def _group(call: Call) -> int:
    """Elements that share statistics."""
    source, op = call.first(), call.node.op
    if "batch_norm" in op:
        return source.elements // max(1, source.shape[1] if len(source.shape) > 1 else 1)
    if "group_norm" in op:
        groups = int(call.attribute("num_groups", call.attribute("group", 1)))
        return source.elements // max(1, source.shape[0] * groups) if source.shape else 1
    shape = call.attribute("normalized_shape", None)
    return prod(int(n) for n in shape) if isinstance(shape, list) and shape else source.shape[-1]


def _norm(call: Call) -> Work:
    source, op = call.first(), call.node.op
    if op in _KNOWN:
        return Work("vector", vector_flop=FLOP[op] * source.elements)
    folded = "batch_norm" in op or "group_norm" in op
    affine = 0 if folded else sum(call.tensor(slot) is not None for slot in ("weight", "bias"))
    group = max(1, _group(call))
    return Work("vector", vector_flop=(FLOP[op] + affine) * source.elements, special=source.elements // group,
                group=group, twice=True, launches=2 if folded else 1)


def _softmax(call: Call) -> Work:
    source = call.first()
    size = source.shape[int(call.attribute("dim", -1))] if source.shape else 1
    groups = source.elements // max(1, size)
    return Work("vector", vector_flop=4 * source.elements - 2 * groups, special=source.elements + groups, group=size,
                twice=True)


def _weight_norm(call: Call) -> Work:
    """Squares and sums over all but one dimension, a root and a quotient for each, one scaling."""
    direction, size = call.tensor("v"), call.tensor("g")
    if direction is None or size is None:
        return Work("vector")
    return Work("vector", vector_flop=3 * direction.elements, special=size.elements,
                group=direction.elements // max(1, size.elements), twice=True)


def _renorm(call: Call) -> Work:
    """Norms of all slices; scaling only where one is too long, which data decide."""
    source, order = call.first(), call.attribute("p", 2)
    return Work("vector", vector_flop=(2 if order == 2 else 1) * source.elements,
                special=0 if order in (1, 2) else source.elements)


RULES: dict[str, Rule] = {
    **dict.fromkeys(FLOP, _norm), **dict.fromkeys(_SOFTMAX, _softmax),
    "renorm": _renorm, **dict.fromkeys(("_weight_norm_interface", "_weight_norm"), _weight_norm),
}
