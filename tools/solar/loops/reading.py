"""What an operator reads and writes: different elements by tensor, likely and sure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from enlist.tools.solar.loops.affine import Form, all_vars
from enlist.tools.solar.loops.dataflow import Group
from enlist.tools.solar.loops.footprint import Touched, touched
from enlist.tools.solar.loops.placed import Placed, domain, events, index_forms, used_names
from enlist.tools.solar.loops.polyhedra import Set
from enlist.tools.solar.loops.program import Access

Touches = list[tuple[Set, Sequence[Form]]]


def reads(group: Group, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, int, bool]]:
    """By tensor: elements read as is likely, elements that are sure, and whether the first is exact.

    Which elements an index from data names is not sure: that they all differ is likely, that it is at least one is
    sure. What a statement reads of its own target is not in it: see `own`.
    """
    direct: dict[str, Touches] = defaultdict(list)
    certain: dict[str, Touches] = defaultdict(list)
    chosen: dict[str, tuple[int, int]] = {}
    for step in group.steps:
        for event in events(step.placed):
            access = event.expr
            if not isinstance(access, Access) or access.tensor == group.tensor:
                continue
            forms, sets = index_forms(access, event.space, event.sets)
            known = [f for f in forms if f is not None]
            if len(known) == len(forms):
                direct[access.tensor] += [(s, known) for s in sets]
                if event.sure:
                    certain[access.tensor] += [(s, known) for s in sets]
                continue
            sure = touched([(s, known) for s in sets]).elements if event.sure else 0
            names = sorted(_variables(access, step.placed))
            likely = touched([(s, [Form.var(v) for v in names]) for s in sets]).elements
            before = chosen.get(access.tensor, (0, 0))
            chosen[access.tensor] = before[0] + likely, max(before[1], sure)
    found = {}
    for tensor in (*direct, *(t for t in chosen if t not in direct)):
        whole = touched(direct[tensor]) if direct[tensor] else Touched(0, True)
        sure = whole if certain[tensor] == direct[tensor] else touched(certain[tensor])  # type: ignore
        extra = chosen.get(tensor, (0, 0))
        most = prod(shapes[tensor])
        found[tensor] = (min(most, whole.elements + extra[0]), min(most, max(sure.elements, extra[1])),  # type: ignore
                         whole.exact and tensor not in chosen)
    return found


def _variables(access: Access, one: Placed) -> set[str]:
    return all_vars(one.space.names[n] for n in used_names(access) if n in one.space.names) & one.vars


def writes(group: Group) -> Touched:
    """Different elements that an operator writes, those that are sure where data choose them."""
    known: Touches = []
    scattered = 0
    for step in group.steps:
        where = domain(step.placed)
        if where is None:
            continue
        forms, sets = index_forms(step.placed.statement.target, step.placed.space, (where,))
        affine = [f for f in forms if f is not None]
        if len(affine) == len(forms):
            known += [(s, affine) for s in sets]
        else:
            scattered = max(scattered, touched([(s, affine) for s in sets]).elements)
    direct = touched(known) if known else Touched(0, True)
    return Touched(max(direct.elements, scattered), direct.exact and not scattered)


def own(group: Group) -> int:
    """Elements of the version before that are read: by sums that go on from it, or by a statement that changes it.

    What a turn reads may have been written by an earlier turn; then nothing is sure to be read from the old version.
    """
    if group.before is None or not group.steps:
        return 0
    first = group.steps[0]
    statement = first.placed.statement
    reading = [e.expr for e in events(first.placed) if isinstance(e.expr, Access) and e.expr.tensor == group.tensor]
    if any(group.tensor in names for names in first.ties.values()) or (statement.update == "=" and not reading):
        return 0
    where = domain(first.placed)
    found: Touches = []
    for access in [statement.target] if statement.update != "=" else reading:
        forms, sets = index_forms(access, first.placed.space, (where,) if where is not None else ())
        if all(f is not None for f in forms):
            found += [(s, [f for f in forms if f is not None]) for s in sets]
    return touched(found).elements if found else 0
