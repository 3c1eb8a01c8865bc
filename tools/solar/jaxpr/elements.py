"""Elementwise primitives and reductions: FLOP and evaluations of special functions, counted as for PyTorch.

The same program costs the same in JAX and in PyTorch: an evaluation is one result of exp, log, tanh, erf, a root or a
reciprocal; a division takes one reciprocal per different divisor and a multiplication per element; repeated elements
are worked out once; adding n numbers takes n - 1 additions; integers count bytes only. Arithmetic with a number that
changes nothing (plus 0, times 1, the greater of x and minus infinity) is not counted.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from enlist.tools.solar.jaxpr.primitives import EACH
from enlist.tools.solar.rules.elements import different, floating, is_floating
from enlist.tools.solar.rules.elementwise import power
from enlist.tools.solar.work import Call, Rule, Work

NEEDED = "needed_share"
"""The attribute of an operator that says which share of its FLOP a mask leaves, as [numerator, denominator]."""

_NEUTRAL: Mapping[str, tuple[str, ...]] = {
    "add": ("0", "0.0"), "sub": ("0", "0.0"), "mul": ("1", "1.0"), "div": ("1", "1.0"), "max": ("-inf",),
    "min": ("inf",)}
_SCANS: Mapping[str, tuple[int, int]] = {"cumsum": (1, 0), "cumprod": (1, 0), "cummax": (1, 0), "cummin": (1, 0),
                                         "cumlogsumexp": (2, 1)}
_REDUCE = ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin")


def left(call: Call, flop: int) -> int:
    """What masks leave of a count."""
    share: Any = call.attribute(NEEDED, None)
    return flop if share is None else int(flop * Fraction(int(share[0]), int(share[1])))


def _vector(call: Call, flop: int, special: int) -> Work:
    if not floating(call):
        return Work("vector")
    return Work("vector", vector_flop=left(call, flop), special=left(call, special))


def _each(call: Call) -> Work:
    name, count = call.node.op.removeprefix("lax."), different(call)
    flop, special = EACH[name]
    return _vector(call, 0 if _changes_nothing(call, name) else flop * count, special * count)


def _changes_nothing(call: Call, name: str) -> bool:
    """Whether one operand is a number that leaves the other as it is."""
    places = ("literal1",) if name in ("sub", "div") else ("literal0", "literal1")
    return any(str(call.attribute(p, "")) in _NEUTRAL.get(name, ()) for p in places)


def _division(call: Call) -> Work:
    """A multiplication per element and a reciprocal per different divisor; none of a number."""
    divisor, count = call.tensor("1"), different(call)
    if divisor is None:
        return _vector(call, 0 if _changes_nothing(call, "div") else count, 0)
    known = divisor.structure in ("constant", "zero")
    return _vector(call, count, 0 if known else min(divisor.distinct, count))


def _power(call: Call) -> Work:
    """To a whole power: multiplications; of a tensor: 2 ** (y * log2(x))."""
    count, base, given = different(call), call.tensor("0"), call.attribute("y", call.attribute("literal1", None))
    if isinstance(given, int | float) and abs(given) < 1e9:
        flop, special = power(float(given))
        return _vector(call, flop * count, special * count)
    logarithms = min(base.distinct, count) if base is not None else 0
    return _vector(call, count, count + logarithms)


def _reduction(call: Call) -> Work:
    """One operation for each element beyond the first of its group."""
    source = call.first() if call.node.inputs else call.out()
    out = call.out()
    group = source.elements // max(1, out.elements)
    if not is_floating(source):
        return Work("vector", group=group)
    count = source.distinct
    return Work("vector", vector_flop=left(call, max(0, count - min(out.elements, count))), group=group)


def _reduce(call: Call) -> Work:
    """`lax.reduce` with a function of the user's: what that costs, for each element beyond the first of its group."""
    steps = max(0, call.first().elements - call.out().elements) if call.node.inputs else 0
    return Work("vector", vector_flop=int(call.attribute("flop", 0)) * steps,
                special=int(call.attribute("special", 0)) * steps)


def _scan(call: Call) -> Work:
    out = call.out()
    flop, special = _SCANS[call.node.op.removeprefix("lax.")]
    size = out.shape[int(call.attribute("axis", 0))] if out.shape else 1
    steps = out.elements - out.elements // max(1, size)
    return _vector(call, flop * steps, special * steps)


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(EACH, _each), **dict.fromkeys(("div", "rem"), _division),
    **dict.fromkeys(("pow", "integer_pow"), _power), **dict.fromkeys(_REDUCE, _reduction), "reduce": _reduce,
    **dict.fromkeys(_SCANS, _scan)}
"""By primitive, without "lax."."""
