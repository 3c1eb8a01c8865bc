"""The dtype of every expression, and what its operators cost.

Literals, sizes and loop variables take the dtype of what they meet, as Python numbers do in NumPy. FLOP: one for each
of + - * / min max on floating numbers; a special evaluation for exp, log, sqrt, tanh, erf, sin, cos, pow and the
reciprocal in a division by what is no constant. Signs, comparisons, choices and casts are free, as is whole-number work
outside of matrix products: a lower bound may leave out, never add.
"""

from collections.abc import Mapping

import numpy as np

from enlist.tools.solar.loops.program import COMPARISONS, DTYPES, Access, Expr, Name, Num, Op

FLOATS = frozenset(d for d in DTYPES if "float" in d)
NARROW = frozenset(("bfloat16", "float8_e4m3fn", "float8_e5m2"))
"""Floats that NumPy has not: computed in float32, rounded after every operator."""
SPECIAL = frozenset(("exp", "log", "sqrt", "tanh", "erf", "sin", "cos", "pow"))
WEAK_INT, WEAK_FLOAT = "int", "float"
_WEAK = (WEAK_INT, WEAK_FLOAT)


def dtype_of(expr: Expr, tensors: Mapping[str, str]) -> str:
    """The dtype of an expression, "int" or "float" where only literals and loop variables are in it."""
    if isinstance(expr, Num):
        return WEAK_INT if isinstance(expr.value, int) else WEAK_FLOAT
    if isinstance(expr, Name):
        return WEAK_INT
    if isinstance(expr, Access):
        return tensors[expr.tensor]
    if expr.name in DTYPES:
        return expr.name
    if expr.name in (*COMPARISONS, "and", "or", "not"):
        return "bool"
    args = expr.args[1:] if expr.name == "select" else expr.args
    found = promoted([dtype_of(a, tensors) for a in args])
    if expr.name in SPECIAL or expr.name == "/":
        return {"int": WEAK_FLOAT}.get(found, found if found in (*FLOATS, WEAK_FLOAT) else "float64")
    return found


def promoted(dtypes: list[str]) -> str:
    """The dtype in which operands meet: NumPy's rule; a narrow float with another float gives float32 at least."""
    strong = list(dict.fromkeys(d for d in dtypes if d not in _WEAK))
    if not strong:
        return WEAK_FLOAT if WEAK_FLOAT in dtypes else WEAK_INT
    found = strong[0]
    for other in strong[1:]:
        if found in NARROW or other in NARROW:
            floats = [d for d in (found, other) if d in FLOATS]
            found = floats[0] if len(floats) == 1 else "float64" if "float64" in floats else "float32"
        else:
            found = str(np.result_type(found, other))
    if WEAK_FLOAT in dtypes and found not in FLOATS:
        return "float64"
    return "int64" if found == "bool" and WEAK_INT in dtypes else found


def cost(expr: Op, tensors: Mapping[str, str]) -> tuple[int, int]:
    """FLOP and special evaluations of one evaluation of an operator, without its operands; the reciprocal in a division
    is counted by whoever knows how often the divisor changes."""
    if not any(dtype_of(a, tensors) in FLOATS for a in expr.args):
        return 0, 0
    if expr.name in SPECIAL:
        return 0, 1
    if expr.name in ("min", "max"):
        return len(expr.args) - 1, 0
    return (1, 0) if expr.name in ("+", "-", "*", "/") else (0, 0)


def divides_by_variable(expr: Expr, tensors: Mapping[str, str]) -> bool:
    """Whether an expression is a floating division whose divisor depends on data."""
    return (isinstance(expr, Op) and expr.name == "/" and dtype_of(expr, tensors) in FLOATS
            and dtype_of(expr.args[1], tensors) not in _WEAK)
