"""How many whole points lie between affine constraints: exact, in closed form, whatever the sizes.

The sum of 1 over a set is taken variable by variable. Between one lower and one upper bound the sum of a polynomial is
again a polynomial (Faulhaber); where several bounds compete, the set is split into the cases of which one is tightest.
Variables that share no constraint are independent and their counts multiply. Coefficients beyond 1 are
divided out by residues, or a variable is enumerated, after all others.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, lcm, prod

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import Form, all_vars
from enlist.tools.solar.loops.polyhedra import Set, equality, feasible, simplified

_MOST_ENUMERATED = 5_000
_MOST_RESIDUES = 64
Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction]


def count(forms: Set | None) -> int:
    """The number of points. `unsupported` where the set is endless or would have to be enumerated."""
    return _count(simplified(forms)) if forms is not None else 0


@lru_cache(maxsize=20_000)
def _count(forms: Set | None) -> int:
    if forms is None:
        return 0
    return prod(_sum({(): Fraction(1)}, group, [_MOST_ENUMERATED]) for group in components(forms))


def components(forms: Set) -> list[Set]:
    """The constraints by groups that share no variable."""
    groups: list[tuple[set[str], list[Form]]] = []
    for form in forms:
        touching = [g for g in groups if g[0] & form.vars]
        groups = [g for g in groups if not g[0] & form.vars]
        groups.append((set().union(form.vars, *(g[0] for g in touching)), [f for g in touching for f in g[1]] + [form]))
    return [tuple(g[1]) for g in groups]


def _sum(what: Polynomial, forms: Set | None, left: list[int]) -> int:
    """The sum of a polynomial over a set; `left` is how many values may still be enumerated."""
    if forms is None or not what:
        return 0
    names = {v for m in what for v, _ in m}
    if not forms:
        if names:
            raise _endless()
        return int(what.get((), Fraction(0)))
    found = equality(forms)
    if found:
        rest = simplified(f.with_var(*found) for f in forms)
        return _sum(_substituted(what, *found), rest, left)
    if not feasible(forms):
        return 0
    able = [v for v in sorted(all_vars(forms)) if all(abs(f.coef(v)) <= 1 for f in forms)]
    if not able:
        return _by_residue(what, forms, left)
    var = min(able, key=lambda v: sum(f.coef(v) > 0 for f in forms) * sum(f.coef(v) < 0 for f in forms))
    lower = [Form(tuple(t for t in f.terms if t[0] != var), f.const).times(-1) for f in forms if f.coef(var) > 0]
    upper = [Form(tuple(t for t in f.terms if t[0] != var), f.const) for f in forms if f.coef(var) < 0]
    rest_forms = [f for f in forms if not f.coef(var)]
    if not lower or not upper:
        raise _endless()
    total = 0
    for i, low in enumerate(lower):
        for j, up in enumerate(upper):
            case = simplified([
                *rest_forms, up.plus(low, -1),
                *(low.plus(other, -1).shifted(-1 if n < i else 0) for n, other in enumerate(lower) if n != i),
                *(other.plus(up, -1).shifted(-1 if n < j else 0) for n, other in enumerate(upper) if n != j)])
            if case is not None:
                total += _sum(_between(what, var, low, up), case, left)
    return total


def _endless() -> EnlistError:
    return EnlistError("unsupported", "a set of points has no end", allowed="loops with bounds on both sides",
                       fix="bound every loop by sizes")


def _by_residue(what: Polynomial, forms: Set, left: list[int]) -> int:
    """The sum where every variable has coefficients beyond 1: with m the least common multiple of those of one, each
    variable that it meets is taken as m*u + r for every r below m, after which its own coefficients divide out."""
    best: tuple[int, int, tuple[str, ...]] | None = None
    for var in sorted(all_vars(forms)):
        multiple = lcm(*(abs(f.coef(var)) for f in forms if f.coef(var)))
        others = tuple(sorted(all_vars(f for f in forms if abs(f.coef(var)) > 1) - {var}))
        if best is None or multiple ** len(others) < best[0]:
            best = multiple ** len(others), multiple, others
    if best is None or best[0] > _MOST_RESIDUES or not best[2]:
        return _enumerated(what, forms, left)
    total = 0
    for residues in product(range(best[1]), repeat=len(best[2])):
        part, held = what, list(forms)
        for var, r in zip(best[2], residues, strict=True):
            stands = Form.of({var: best[1]}, r)
            part, held = _substituted(part, var, stands), [f.with_var(var, stands) for f in held]
        total += _sum(part, simplified(held), left)
    return total


def _enumerated(what: Polynomial, forms: Set, left: list[int]) -> int:
    ranges: dict[str, tuple[int, int]] = {}
    for v in all_vars(forms):
        low = [-(f.const // c) for f in forms if (c := f.coef(v)) == 1 and len(f.terms) == 1]
        high = [f.const for f in forms if f.coef(v) == -1 and len(f.terms) == 1]
        if low and high:
            ranges[v] = max(low), min(high)
    if not ranges:
        raise EnlistError("unsupported", "the points of this loop nest cannot be counted",
                          allowed="at least one loop with constant bounds", fix="split the loop, or bound it by sizes")
    var = min(sorted(ranges), key=lambda v: ranges[v][1] - ranges[v][0])
    first, last = ranges[var]
    left[0] -= max(0, last - first + 1)
    if left[0] < 0:
        raise EnlistError("unsupported", "the points of this loop nest would have to be enumerated",
                          given=f"{last - first + 1} values of {var}", allowed=f"{_MOST_ENUMERATED} values",
                          fix="write strided and coupled indices with separate loops")
    return sum(_sum(_substituted(what, var, Form(const=x)), simplified(f.with_var(var, Form(const=x)) for f in forms),
                    left) for x in range(first, last + 1))


def _of(form: Form) -> Polynomial:
    made: Polynomial = {((v, 1),): Fraction(c) for v, c in form.terms}
    if form.const:
        made[()] = Fraction(form.const)
    return made


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for m, a in one.items():
        for n, b in other.items():
            powers = dict(m)
            for v, p in n:
                powers[v] = powers.get(v, 0) + p
            key = tuple(sorted(powers.items()))
            made[key] = made.get(key, Fraction(0)) + a * b
    return {m: c for m, c in made.items() if c}


def _plus(one: Polynomial, other: Polynomial, factor: int = 1) -> Polynomial:
    made = dict(one)
    for m, c in other.items():
        made[m] = made.get(m, Fraction(0)) + factor * c
    return {m: c for m, c in made.items() if c}


def _by_power(what: Polynomial, var: str) -> dict[int, Polynomial]:
    found: dict[int, Polynomial] = {}
    for m, c in what.items():
        power = dict(m).get(var, 0)
        found.setdefault(power, {})[tuple(t for t in m if t[0] != var)] = c
    return found


def _power(of: Polynomial, power: int) -> Polynomial:
    made: Polynomial = {(): Fraction(1)}
    for _ in range(power):
        made = _times(made, of)
    return made


def _substituted(what: Polynomial, var: str, form: Form) -> Polynomial:
    made: Polynomial = {}
    for power, coefficient in _by_power(what, var).items():
        made = _plus(made, _times(coefficient, _power(_of(form), power)))
    return made


def _between(what: Polynomial, var: str, low: Form, up: Form) -> Polynomial:
    """The sum of a polynomial over `var` from `low` to `up`."""
    made: Polynomial = {}
    for power, coefficient in _by_power(what, var).items():
        for n, share in enumerate(faulhaber(power)):
            if share:
                both = _plus(_power(_of(up), n), _power(_of(low.shifted(-1)), n), -1)
                made = _plus(made, _times({m: c * share for m, c in coefficient.items()}, both))
    return made


@lru_cache(maxsize=64)
def faulhaber(power: int) -> tuple[Fraction, ...]:
    """Coefficients, from the constant up, of the polynomial in n that is 1^p + ... + n^p."""
    bernoulli = [Fraction(1)]
    for m in range(1, power + 1):
        bernoulli.append(-sum((comb(m + 1, k) * bernoulli[k] for k in range(m)), Fraction(0)) / (m + 1))
    if power >= 1:
        bernoulli[1] = Fraction(1, 2)  # the convention in which n itself is summed
    coefficients = [Fraction(0)] * (power + 2)
    for k in range(power + 1):
        coefficients[power + 1 - k] += comb(power + 1, k) * bernoulli[k] / (power + 1)
    return tuple(coefficients)
