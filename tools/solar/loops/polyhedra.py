"""Sets of whole points between affine constraints: simplify, test for emptiness, project, subtract.

A set is a tuple of forms, each >= 0. Projection is Fourier-Motzkin elimination, exact over the whole numbers where one
of the two coefficients is 1 or where the "dark shadow" loses nothing (Pugh, The Omega Test, CACM 1992).
"""

from collections.abc import Iterable, Sequence
from math import gcd

from enlist.tools.solar.loops.affine import Form, all_vars

Set = tuple[Form, ...]


def simplified(forms: Iterable[Form]) -> Set | None:
    """The same points with tightened constants, the tightest of parallel constraints only; None for no points."""
    tightest: dict[tuple[tuple[str, int], ...], int] = {}
    for form in forms:
        if not form.terms:
            if form.const < 0:
                return None
            continue
        common = gcd(*(c for _, c in form.terms))
        terms = tuple((v, c // common) for v, c in form.terms) if common > 1 else form.terms
        const = form.const // common
        tightest[terms] = min(tightest.get(terms, const), const)
    for terms, const in tightest.items():
        other = tightest.get(tuple((v, -c) for v, c in terms))
        if other is not None and const + other < 0:
            return None
    return tuple(Form(t, c) for t, c in sorted(tightest.items()))


def equality(forms: Set, among: set[str] | None = None) -> tuple[str, Form] | None:
    """A variable (of `among`) with coefficient 1 or -1 in an equality, and the form that it equals."""
    known = {f.terms: f.const for f in forms}
    for form in forms:
        if known.get(tuple((v, -c) for v, c in form.terms)) == -form.const:
            for v, c in form.terms:
                if abs(c) == 1 and (among is None or v in among):
                    return v, Form(tuple(t for t in form.terms if t[0] != v), form.const).times(-c)
    return None


def without(forms: Set, var: str) -> tuple[Set | None, bool]:
    """The projection along a variable (None for no points), and whether it is exact over whole numbers."""
    shadow = _shadow(forms, var)
    for low in (f for f in forms if f.coef(var) > 1):
        for up in (f for f in forms if f.coef(var) < -1):
            a, b = low.coef(var), -up.coef(var)
            lost = low.times(b).plus(up, a).times(-1).shifted((a - 1) * (b - 1) - 1)
            if feasible(simplified([*(shadow or ()), lost])) and shadow is not None:
                return shadow, False
    return shadow, True


def _shadow(forms: Set, var: str) -> Set | None:
    """The rational projection along a variable."""
    lower = [f for f in forms if f.coef(var) > 0]
    upper = [f for f in forms if f.coef(var) < 0]
    rest = [f for f in forms if not f.coef(var)]
    return simplified([*rest, *(low.times(-up.coef(var)).plus(up, low.coef(var)) for low in lower for up in upper)])


def feasible(forms: Set | None) -> bool:
    """Whether there may be points: False is certain, True holds for rational points."""
    while forms:
        found = equality(forms)
        if found:
            forms = simplified(f.with_var(*found) for f in forms)
            continue
        forms = _shadow(forms, min(sorted(all_vars(forms)), key=lambda v: _pairs(forms or (), v)))
        if forms is not None and len(forms) > 400:
            return True
    return forms is not None


def _pairs(forms: Sequence[Form], var: str) -> tuple[bool, int]:
    coefs = [f.coef(var) for f in forms]
    unit = all(abs(c) <= 1 for c in coefs)
    return not unit, sum(c > 0 for c in coefs) * sum(c < 0 for c in coefs)


def projected(forms: Set | None, keep: Iterable[str]) -> tuple[Set | None, bool]:
    """The shadow on the variables of `keep` (None for no points), and whether each of its points has one above it."""
    kept, exact = set(keep), True
    while forms and (away := all_vars(forms) - kept):
        found = equality(forms, away)
        if found:
            forms = simplified(f.with_var(*found) for f in forms)
            continue
        var = min(sorted(away), key=lambda v: _pairs(forms or (), v))
        forms, lossless = without(forms, var)
        exact = exact and lossless
    return forms, exact


def subtracted(one: Set, other: Set) -> list[Set]:
    """`one` without `other`, as sets that do not overlap."""
    left: list[Set] = []
    inside: list[Form] = list(one)
    for form in other:
        part = simplified([*inside, form.times(-1).shifted(-1)])
        if part is not None and feasible(part):
            left.append(part)
        inside.append(form)
    return left


def disjoint(sets: Iterable[Set]) -> list[Set]:
    """The union as sets that do not overlap."""
    found: list[Set] = []
    for one in sets:
        pieces = [one]
        for other in found:
            pieces = [p for piece in pieces for p in subtracted(piece, other)]
        found += pieces
    return found
