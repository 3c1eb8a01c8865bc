"""Losses: a few FLOP per element, then their sum.

Those that PyTorch composes (cosine, hinge, triplet margin, KL divergence, cross-entropy, L1) come as the operators that
they are made of.
"""

from collections.abc import Mapping

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.work import Call, Rule, Work

LOSSES: Mapping[str, tuple[int, int]] = {
    "mse_loss": (2, 0), "l1_loss": (1, 0), "smooth_l1_loss": (3, 0), "huber_loss": (3, 0),
    "binary_cross_entropy": (2, 1), "binary_cross_entropy_with_logits": (3, 1), "soft_margin_loss": (2, 1),
    "poisson_nll_loss": (2, 1), "multi_margin_loss": (2, 0), "multilabel_margin_loss_forward": (1, 0),
}
"""FLOP and evaluations of special functions per element, before the sum. Binary cross-entropy takes one logarithm for
sure: the other term is not needed where the target is zero or one."""

_UNREDUCED = 0


def _loss(call: Call) -> Work:
    flop, special = LOSSES[call.node.op]
    count = call.first().elements
    summed = call.attribute("reduction", 1) != _UNREDUCED
    return Work("vector", vector_flop=flop * count + (max(0, count - 1) if summed else 0), special=special * count,
                group=count if summed else 0, launches=2 if summed else 1)


def _negative_log_likelihood(call: Call) -> Work:
    """One element for each target, unless that is the index to ignore, which all may be."""
    source: Tensor = call.first()
    target = call.tensor("target")
    picked = target.elements if target is not None else 0
    return Work("move", reads={source.id: min(picked, source.distinct)}, surely={source.id: 0})


RULES: dict[str, Rule] = {
    **dict.fromkeys(LOSSES, _loss), "nll_loss_forward": _negative_log_likelihood,
    "nll_loss2d_forward": _negative_log_likelihood}
