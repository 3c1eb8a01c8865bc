"""The rules of PyTorch's operators, by aten's name, and what capture must know of them.

FLOP counts two for a multiply and an add (never MACs). Counts are what the operator as written needs; faster algorithms
(Strassen, Winograd) are outside. Each family has a file and a table of its own.
"""

from enlist.tools.solar.rules import (
    attention,
    backward,
    branches,
    collectives,
    convolution,
    elementwise,
    fft,
    gathering,
    linalg,
    losses,
    movement,
    norms,
    optimizers,
    pooling,
    products,
    quantised,
    recurrent,
    reductions,
)
from enlist.tools.solar.rules.convolution import CONVOLUTIONS
from enlist.tools.solar.rules.gathering import IN_PLACE
from enlist.tools.solar.rules.products import PRODUCTS
from enlist.tools.solar.work import Rule

__all__ = ["CONVOLUTIONS", "IN_PLACE", "PRODUCTS", "RULES", "WHOLE"]

RULES: dict[str, Rule] = {name: rule for family in (
    attention, backward, branches, collectives, convolution, elementwise, fft, gathering, linalg, losses, movement,
    norms, optimizers, pooling, products, quantised, recurrent, reductions) for name, rule in family.RULES.items()}

WHOLE = frozenset((
    *CONVOLUTIONS, "linear", "matmul", "scaled_dot_product_attention", "layer_norm", "group_norm", "rms_norm",
    "_fused_rms_norm", "softmax", "log_softmax", "prelu", "relu6", "square", "where", "multiply", "subtract", "divide",
    "true_divide", "max", "min", "std", "std_mean", "var", "var_mean", "empty", "rand", "randn", "avg_pool1d",
    *(f"adaptive_avg_pool{n}d" for n in (1, 2, 3)), *(f"max_pool{n}d" for n in (1, 2, 3)), "max_pool1d_with_indices",
    *(f"upsample_nearest{n}d" for n in (1, 2, 3))))
"""Composite operators that capture does not take apart; the others that are composite become what they are made of."""
