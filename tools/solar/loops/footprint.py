"""How many different elements a group of accesses touches.

Exact where the image of each access is itself a set of whole points between affine constraints (unions are made
disjoint), where an access sends different points to different elements, or where there are few enough points to list.
Else `exact` is False and the count is a lower bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import Form, all_vars
from enlist.tools.solar.loops.counting import components, count
from enlist.tools.solar.loops.polyhedra import Set, disjoint, projected, simplified

_MOST_LISTED = 2_000_000
_MOST_PIECES = 24


@dataclass(frozen=True)
class Touched:
    """Different elements, and whether that is exact (else it is at least so many)."""

    elements: int
    exact: bool


def touched(accesses: Sequence[tuple[Set, Sequence[Form]]]) -> Touched:
    """Different index tuples over all points of all accesses; every access has the same number of indices."""
    todo = list(dict.fromkeys((s, tuple(f)) for s, f in accesses if simplified(s) is not None))
    if not todo:
        return Touched(0, True)
    if len(todo) == 1:
        return _one(*todo[0])
    images = [_image(*one) for one in todo]
    if all(i is not None for i in images) and len(set(images)) <= _MOST_PIECES:
        try:
            return Touched(sum(count(s) for s in disjoint(dict.fromkeys(i for i in images if i is not None))), True)
        except EnlistError:
            pass  # listed, or taken one by one, below
    listed = _listed(todo)
    if listed is not None:
        return Touched(listed, True)
    singles = [_one(*one) for one in todo]
    return Touched(max(s.elements for s in singles), False)


def _one(forms: Set, indices: tuple[Form, ...]) -> Touched:
    """The image of one access: independent groups of dimensions multiply."""
    total, exact = 1, True
    for group, part in _independent(forms, indices):
        found = _group(group, part)
        total, exact = total * found.elements, exact and found.exact
    return Touched(total, exact)


def _independent(forms: Set, indices: tuple[Form, ...]) -> list[tuple[Set, tuple[Form, ...]]]:
    """Indices by groups that share no variable, each with the constraints on its variables; one for what is left."""
    joined = [f for f in components(tuple([*forms]))]
    groups: list[tuple[set[str], list[Form], list[Form]]] = [(all_vars(c), list(c), []) for c in joined]
    for index in indices:
        touching = [g for g in groups if g[0] & index.vars]
        groups = [g for g in groups if not g[0] & index.vars]
        groups.append((set().union(index.vars, *(g[0] for g in touching)), [f for g in touching for f in g[1]],
                       [i for g in touching for i in g[2]] + [index]))
    return [(tuple(g[1]), tuple(g[2])) for g in groups]


def _group(forms: Set, indices: tuple[Form, ...]) -> Touched:
    used = all_vars(indices)
    if not used:
        return Touched(min(1, count(forms)), True)
    image = _image(forms, indices)
    try:
        if image is not None:
            return Touched(count(image), True)
        if all("'" in v for v in all_vars(forms) - used) and _rank(indices, sorted(used)) == len(used):
            return Touched(count(forms), True)  # helpers of // and % are determined by the loops
        shadow, exact = projected(simplified(forms), used)
        if exact and _rank(indices, sorted(used)) == len(used):
            return Touched(count(shadow), True)
    except EnlistError:
        pass  # listed below
    listed = _listed([(forms, indices)])
    if listed is not None:
        return Touched(listed, True)
    return Touched(1, False)


def _image(forms: Set, indices: tuple[Form, ...]) -> Set | None:
    """The image as constraints on variables "0", "1", ...; None where it is no such set."""
    equal = [part for n, f in enumerate(indices) for part in (
        Form.var(str(n)).plus(f, -1), f.plus(Form.var(str(n)), -1))]
    shadow, exact = projected(simplified([*forms, *equal]), [str(n) for n in range(len(indices))])
    return shadow if exact else None


def _rank(indices: Sequence[Form], variables: Sequence[str]) -> int:
    """The rank of the coefficients: with that of all variables, different points have different indices."""
    rows = [[Fraction(f.coef(v)) for v in variables] for f in indices]
    rank = 0
    for column in range(len(variables)):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] / rows[rank][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


def _listed(todo: Sequence[tuple[Set, Sequence[Form]]]) -> int | None:
    """The number of different indices by listing all points; None where there are too many."""
    found = []
    for forms, indices in todo:
        shadow, exact = projected(simplified(forms), all_vars(indices))
        points = listed(shadow if exact else simplified(forms))
        if points is None:
            return None
        size = max([len(v) for v in points.values()], default=1)
        found.append(np.stack([np.full(size, f.const) + sum(c * points[v] for v, c in f.terms) for f in indices], 1)
                     if indices else np.zeros((1, 1), np.int64))
    return len(np.unique(np.concatenate(found), axis=0))


def listed(forms: Set | None) -> dict[str, np.ndarray] | None:
    """All points of a set by variable; None where a grid around them has too many."""
    if forms is None:
        return None
    ranges = {}
    for v in sorted(all_vars(forms)):
        alone, _ = projected(forms, [v])
        low = [-(f.const // f.coef(v)) for f in alone or () if f.coef(v) > 0]
        high = [f.const // -f.coef(v) for f in alone or () if f.coef(v) < 0]
        if not low or not high:
            return None
        ranges[v] = range(max(low), min(high) + 1)
    total = 1
    for r in ranges.values():
        total *= max(0, len(r))
    if total > _MOST_LISTED:
        return None
    grid = np.meshgrid(*(np.arange(r.start, r.stop, dtype=np.int64) for r in ranges.values()), indexing="ij")
    points = {v: g.ravel() for v, g in zip(ranges, grid, strict=True)}
    kept = np.ones(total, bool)
    for f in forms:
        kept &= sum((c * points[v] for v, c in f.terms), np.zeros(total, np.int64)) + f.const >= 0
    return {v: p[kept] for v, p in points.items()}
