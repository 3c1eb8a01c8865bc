"""Elementwise work, one operator at a time.

`EACH` has FLOP on vector units and evaluations of special functions, per element. An evaluation is one result of exp,
log, tanh, erf, sin, a root or a reciprocal. A function of one variable counts one evaluation at most, however PyTorch
writes it, because a table or a polynomial may serve all of it; its FLOP are those around it in the cheapest form that
we know (sigmoid x: 1 / (1 + exp(-x)), two FLOP). Where only some data need the function (the negative side of ELU),
none is counted, since all data may lie on the other side. Division by a tensor takes one reciprocal per different
divisor and one multiplication per element; division by a number is a multiplication. Integer and boolean work counts
bytes only; complex numbers take two FLOP to add and six to multiply (four products, two sums).
"""

from collections.abc import Mapping

from enlist.tools.solar.rules.elements import different, filling, floating, is_complex, outputs
from enlist.tools.solar.work import Call, Rule, Work

EACH: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys((
        "add", "sub", "rsub", "mul", "multiply", "subtract", "square", "maximum", "minimum", "fmax", "fmin", "neg",
        "abs", "sign", "sgn", "floor", "ceil", "round", "trunc", "frac", "relu", "leaky_relu", "prelu",
        "_prelu_kernel", "rrelu_with_noise", "clamp_min", "clamp_max", "threshold", "eq", "ne", "lt", "le", "gt", "ge",
        "elu", "celu", "hardshrink", "softshrink", "nan_to_num", "copysign", "heaviside", "native_dropout",
        "_fused_dropout", "_masked_scale", "_add_relu", "ldexp"), (1, 0)),
    **dict.fromkeys(("hardtanh", "relu6", "hardsigmoid", "addcmul", "lerp"), (2, 0)),
    "hardswish": (3, 0),
    **dict.fromkeys((
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin",
        "acos", "atan", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "sqrt", "rsqrt", "reciprocal", "lgamma",
        "digamma", "sinc", "i0", "special_i0e", "special_i1", "special_i1e", "special_ndtri", "special_log_ndtr",
        "special_erfcx", "special_bessel_j0", "special_bessel_j1", "polygamma", "mvlgamma", "igamma", "igammac",
        "angle"), (0, 1)),
    **dict.fromkeys(("softplus", "logit", "xlogy", "special_xlog1py", "special_entr", "atan2"), (1, 1)),
    **dict.fromkeys(("sigmoid", "log_sigmoid_forward"), (2, 1)),
    **dict.fromkeys(("silu", "mish", "glu", "logaddexp", "logaddexp2", "hypot"), (3, 1)),
    "gelu": (4, 1),  # h + h * erf(c * x) with h = x / 2
    "polar": (2, 2),
}
"""FLOP and evaluations per different element of the output."""

_BYTES_ONLY = ("logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_not",
               "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__", "__and__",
               "__or__", "__xor__", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "gcd", "lcm",
               "nextafter", "frexp", "conj_physical", "_conj_physical", "complex", "isin", "bucketize", "searchsorted",
               "is_same_size", "real", "imag")
_COMPLEX = {"mul": 6, "multiply": 6, "add": 2, "sub": 2, "subtract": 2, "rsub": 2, "neg": 2, "div": 6}
_DIVISIONS = ("div", "true_divide", "divide", "floor_divide", "fmod", "remainder")


def _each(call: Call) -> Work:
    if not floating(call):
        return Work("vector")
    flop, special = EACH[call.node.op]
    if is_complex(call):  # what is not listed is taken as the one of a real number
        flop = _COMPLEX.get(call.node.op, flop)
    elif call.node.op in ("add", "sub") and call.attribute("alpha", 1) not in (1, -1):
        flop = 2
    count = different(call)
    return Work("vector", vector_flop=flop * count, special=special * count)


def _division(call: Call) -> Work:
    """One reciprocal per different element of the divisor."""
    if not floating(call):
        return Work("vector")
    other, count = call.tensor("other"), different(call)
    flop = (_COMPLEX["div"] if is_complex(call) else 1) * count
    return Work("vector", vector_flop=flop, special=min(other.distinct, count) if other is not None else 0)


def _addcdiv(call: Call) -> Work:
    divisor, count = call.tensor("tensor2"), different(call)
    return Work("vector", vector_flop=2 * count, special=min(divisor.distinct, count) if divisor is not None else 0)


def _clamp(call: Call) -> Work:
    """One comparison for each limit that is given."""
    limits = sum(call.attribute(side, None) is not None or call.tensor(side) is not None for side in ("min", "max"))
    return Work("vector", vector_flop=limits * different(call) if floating(call) else 0)


def power(exponent: float) -> tuple[int, int]:
    """Multiplications and evaluations of x to a number: at least log2 of a whole exponent, by repeated squaring."""
    whole = int(exponent) == exponent and abs(exponent) <= 64
    if not whole:
        return 0, 1
    size = int(abs(exponent))
    return max(0, size - 1).bit_length() if size else 0, int(exponent < 0)


def _pow(call: Call) -> Work:
    """To the power of a number: multiplications, or one evaluation; of a tensor: 2 ** (y * log2(x))."""
    count, base = different(call), call.tensor("self")
    if not floating(call):
        return Work("vector")
    exponent = call.attribute("exponent", None)
    if isinstance(exponent, int | float) and abs(exponent) < 1e9:
        flop, special = power(exponent)
        return Work("vector", vector_flop=flop * count, special=special * count)
    logarithms = min(base.distinct, count) if base is not None else 0
    return Work("vector", vector_flop=count, special=count + logarithms)


def _bytes_only(call: Call) -> Work:
    return Work("vector")


def _foreach(call: Call) -> Work | None:
    """The same on each tensor of a list; divisions and roots as on one."""
    name = call.node.op.removeprefix("_foreach_")
    flop, special = {"div": (1, 0), "addcdiv": (2, 0), "pow": (1, 0), "clamp_min": (1, 0), "zero": (0, 0),
                     "copy": (0, 0), "clone": (0, 0)}.get(name, EACH.get(name, (-1, 0)))
    if flop < 0:
        return None
    count = sum(t.elements for t in outputs(call))
    divisors = filling(call, "other" if name == "div" else "tensor2") if name in ("div", "addcdiv") else []
    return Work("vector", vector_flop=flop * count, special=special * count + sum(t.distinct for t in divisors),
                launches=-(-len(call.node.outputs) // _PER_LAUNCH) if call.node.outputs else 1)


_PER_LAUNCH = 36
"""Tensors that one kernel of PyTorch's lists takes at least (multi_tensor_apply, depth 4)."""

RULES: dict[str, Rule] = {
    **dict.fromkeys(EACH, _each), **dict.fromkeys(_DIVISIONS, _division), **dict.fromkeys(_BYTES_ONLY, _bytes_only),
    "addcdiv": _addcdiv, "clamp": _clamp, "pow": _pow, "float_power": _pow,
    **{f"_foreach_{name}": _foreach for name in (*EACH, "div", "addcdiv", "pow", "zero", "copy", "clone")},
}
