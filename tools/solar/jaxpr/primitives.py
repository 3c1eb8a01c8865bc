"""What elementwise primitives of JAX cost per element; imports nothing, because both capture and rules read it."""

from collections.abc import Mapping

EACH: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys((
        "add", "sub", "mul", "max", "min", "neg", "abs", "sign", "floor", "ceil", "round", "eq", "ne", "lt", "le", "gt",
        "ge", "square", "add_any"), (1, 0)),
    **dict.fromkeys((
        "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan",
        "asinh", "acosh", "atanh", "erf", "erfc", "erf_inv", "sqrt", "rsqrt", "cbrt", "lgamma", "digamma", "igamma",
        "igammac", "bessel_i0e", "bessel_i1e", "regularized_incomplete_beta", "polygamma", "zeta"), (0, 1)),
    "logistic": (2, 1), "atan2": (1, 1), "clamp": (2, 0)}
"""FLOP and evaluations per different element of the output."""
