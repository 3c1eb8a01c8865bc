"""Every statement of a program with the loops and guards around it, and every part of its value with the points at
which it is evaluated: `select` on loop variables evaluates one branch only, on data it is not sure which.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import Form, Space, size_values
from enlist.tools.solar.loops.polyhedra import Set, feasible, simplified, subtracted
from enlist.tools.solar.loops.program import Access, Assign, Expr, For, Name, Op, Program, Statement, parts


@dataclass(frozen=True)
class Placed:
    """A statement, its loops from the outside in, and what holds there. The set's variables are loop counters."""

    statement: Assign
    loops: tuple[For, ...]
    space: Space

    @property
    def vars(self) -> set[str]:
        return {loop.var for loop in self.loops}


@dataclass(frozen=True)
class Event:
    """A part of a statement's value and the points (sets that do not overlap) at which it is evaluated; `sure` is
    False in a branch that data choose. `space` knows the names that hold there."""

    expr: Expr
    sets: tuple[Set, ...]
    sure: bool
    space: Space


def placed(program: Program, values: Mapping[str, int] | None = None) -> list[Placed]:
    """The statements in the order of the text. Raises `bad_input` for what is not affine."""
    values = size_values(program) if values is None else values
    space = Space({n: Form(const=v) for n, v in values.items()})
    return list(placements(program.body, space, ()))


def placements(body: tuple[Statement, ...], space: Space, loops: tuple[For, ...]) -> Iterator[Placed]:
    """The statements of a body inside of `loops`."""
    for one in body:
        if isinstance(one, Assign):
            yield Placed(one, loops, space)
        elif isinstance(one, For):
            yield from placements(one.body, entered(space, one), (*loops, one))
        else:
            inside = space.copy()
            inside.held += inside.conditions(one.test)
            yield from placements(one.body, inside, loops)


def entered(space: Space, loop: For) -> Space:
    """What holds inside a loop; with a step the counter is the number of the turn."""
    if loop.var in space.names:
        raise EnlistError("bad_input", f"{loop.var} is the name of a size or of a loop around this one",
                          fix="give each loop a name of its own")
    inside = space.copy()
    turn = Form.var(loop.var)
    if loop.step == 1:
        inside.held += [turn.plus(low, -1) for low in inside.bounds(loop.lower, lower=True)]
        inside.held += [up.plus(turn, -1).shifted(-1) for up in inside.bounds(loop.upper, lower=False)]
        inside.names[loop.var] = turn
        return inside
    start = inside.form(loop.lower)
    value = start.plus(turn.times(loop.step))
    inside.held.append(turn)
    for end in inside.bounds(loop.upper, lower=loop.step < 0):
        inside.held.append(end.plus(value, -1).shifted(-1) if loop.step > 0 else value.plus(end, -1).shifted(-1))
    inside.names[loop.var] = value
    return inside


def domain(one: Placed) -> Set | None:
    """The points at which a statement runs."""
    return simplified(one.space.held)


def events(one: Placed) -> Iterator[Event]:
    """All parts of the value, and of indices of the target that are read from tensors, inner parts first."""
    start = domain(one)
    if start is None:
        return
    for index in one.statement.target.indices:
        if any_access(index):
            yield from _events(index, one.space, (start,), True)
    yield from _events(one.statement.value, one.space, (start,), True)


def any_access(expr: Expr) -> bool:
    """Whether an expression reads a tensor."""
    if isinstance(expr, Access):
        return True
    return isinstance(expr, Op) and any(any_access(a) for a in expr.args)


def _events(expr: Expr, space: Space, sets: tuple[Set, ...], sure: bool) -> Iterator[Event]:
    if isinstance(expr, Access):
        for index in expr.indices:
            if any_access(index):
                yield from _events(index, space, sets, sure)
    elif isinstance(expr, Op) and expr.name == "select":
        test, yes, no = expr.args
        if space.is_affine_test(test):
            inside = space.copy()
            forms = inside.conditions(test)
            both = [s for one in sets if (s := simplified([*one, *inside.held])) is not None]
            chosen = tuple(s for one in both if (s := simplified([*one, *forms])) is not None and feasible(s))
            other = tuple(s for one in both for s in subtracted(one, tuple(forms)))
            yield from _events(yes, inside, chosen, sure)
            yield from _events(no, inside, other, sure)
            return
        yield from _events(test, space, sets, sure)
        yield from _events(yes, space, sets, False)
        yield from _events(no, space, sets, False)
    elif isinstance(expr, Op):
        for part in expr.args:
            yield from _events(part, space, sets, sure)
    if sets:
        yield Event(expr, sets, sure, space)


def index_forms(access: Access, space: Space, sets: tuple[Set, ...]) -> tuple[list[Form | None], tuple[Set, ...]]:
    """An access's indices as forms, None for one that is read from a tensor, and the sets with helper variables."""
    inside = space.copy()
    forms = [None if any_access(i) else inside.form(i) for i in access.indices]
    return forms, tuple(s for one in sets if (s := simplified([*one, *inside.held])) is not None)


def used_names(expr: Expr) -> set[str]:
    """Names of loop variables and sizes inside an expression."""
    return {e.id for e in parts(expr) if isinstance(e, Name)}
