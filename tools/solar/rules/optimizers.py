"""Steps of optimizers, as one operator per parameter or fused over lists of them.

AdamW per parameter: decay (1), two moving averages (3 and 4), bias corrections folded into constants, the root scaled
plus epsilon (2), the quotient scaled and subtracted, of which decay and scaling are shared (2); one root and one
division. SGD: scaling and subtraction (2), with momentum one multiply-add more (2).
"""

from enlist.tools.solar.rules.elements import filling
from enlist.tools.solar.work import Call, Rule, Work

ADAMW_FLOP, ADAMW_SPECIAL = 12, 2
"""FLOP and evaluations of special functions per parameter."""


def _adamw(call: Call) -> Work:
    count = call.first().elements
    return Work("vector", vector_flop=ADAMW_FLOP * count, special=ADAMW_SPECIAL * count)


def _sgd(call: Call) -> Work:
    return Work("vector", vector_flop=(4 if len(call.node.inputs) > 2 else 2) * call.first().elements)


def _fused(call: Call) -> Work:
    """All parameters in one operator: `self` are the parameters, other lists the gradients and states."""
    count = sum(t.elements for t in filling(call, "self"))
    if call.node.op == "_fused_sgd":
        momentum = bool(filling(call, "momentum_buffer_list"))
        return Work("vector", vector_flop=(4 if momentum else 2) * count)
    if call.node.op == "_fused_adagrad":  # squares added (2), root plus epsilon (1), quotient scaled and subtracted (2)
        return Work("vector", vector_flop=5 * count, special=2 * count)
    return Work("vector", vector_flop=ADAMW_FLOP * count, special=ADAMW_SPECIAL * count)


RULES: dict[str, Rule] = {
    "adamw_step": _adamw, "adam_step": _adamw, "sgd_step": _sgd,
    **dict.fromkeys(("_fused_adam", "_fused_adamw", "_fused_sgd", "_fused_adagrad"), _fused)}
