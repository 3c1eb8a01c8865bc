"""Which loops hand values from one turn to the next, and temporaries that only seem to.

A loop may be distributed over its statements (each run for all turns before the next) unless a later statement, or the
same one, touches in one turn what an earlier one touches in a later turn. The test asks for two such points between
affine constraints (Feautrier 1991); where it cannot tell, the loop counts as carried. A temporary that each turn
assigns before it reads it is private: it gets a dimension for the loop and no longer ties the turns together.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from enlist.tools.solar.loops.affine import Form, Space, all_vars, size_values
from enlist.tools.solar.loops.placed import Placed, entered, index_forms, placed, placements
from enlist.tools.solar.loops.polyhedra import feasible, projected, simplified, subtracted
from enlist.tools.solar.loops.program import (
    Access,
    Assign,
    Declared,
    Expr,
    For,
    If,
    Name,
    Num,
    Op,
    Program,
    Statement,
    read_by,
)


@dataclass(frozen=True)
class _Touch:
    """One access of one statement: where it stands in the text, what it touches and how."""

    order: int
    placed: Placed
    access: Access
    writes: bool
    reduces: bool


def carried(loop: For, space: Space) -> set[str]:
    """The tensors that tie a loop's turns together; `space` is what holds around the loop."""
    below = list(placements((loop,), space, ()))
    found: set[str] = set()
    written = {one.statement.target.tensor for one in below}
    touches = [t for n, one in enumerate(below) for t in _touches(n, one) if t.access.tensor in written]
    for later in touches:
        for earlier in touches:
            tensor = later.access.tensor
            if tensor in found or earlier.access.tensor != tensor or earlier.order > later.order:
                continue
            if earlier.order == later.order and not (later.writes and not earlier.writes):
                continue  # a statement with itself: only what it wrote and then reads
            if (later.writes or earlier.writes) and _meet(later, earlier, loop.var, len(space.names)):
                found.add(tensor)
    return found


def _touches(order: int, one: Placed) -> Iterator[_Touch]:
    statement = one.statement
    yield _Touch(order, one, statement.target, True, statement.update != "=")
    for access in read_by(statement):
        yield _Touch(order, one, access, False, False)


def _meet(first: _Touch, second: _Touch, var: str, known: int) -> bool:
    """Whether `first` in a turn of `var` touches an element that `second` touches in a later turn."""
    one, two = first.placed, second.placed
    outside = list(one.space.names)[:known]  # what is named outside of the loop is the same for both
    forms_a, sets_a = index_forms(first.access, one.space, (simplified(one.space.held) or (),))
    forms_b, sets_b = index_forms(second.access, two.space, (simplified(two.space.held) or (),))
    if simplified(one.space.held) is None or simplified(two.space.held) is None or not sets_a or not sets_b:
        return False
    shared = {v for n in outside for v in one.space.names[n].vars}
    mine = {v: f"{v}~" for v in all_vars(sets_b[0]) | all_vars(f for f in forms_b if f) | {var} if v not in shared}
    held = [*sets_a[0], *(_renamed(f, mine) for f in sets_b[0])]
    for a, b in zip(forms_a, forms_b, strict=True):
        if a is not None and b is not None:
            difference = a.plus(_renamed(b, mine), -1)
            held += [difference, difference.times(-1)]
    held.append(Form.of({mine[var]: 1, var: -1}, -1))
    return feasible(simplified(held))


def _renamed(form: Form, names: Mapping[str, str]) -> Form:
    return Form.of({names.get(v, v): c for v, c in form.terms}, form.const)


def privatised(program: Program) -> Program:
    """The program in which every private temporary has a dimension for each loop that it is private to."""
    temps = {t.name for t in program.with_role("temp")}
    for _ in range(64):  # one temporary and loop a round
        if not temps:
            break
        found = next(_private(program, temps), None)
        if found is None:
            break
        program = _expanded(program, *found)
    return program


def _private(program: Program, temps: set[str]) -> Iterator[tuple[str, For, int, int]]:
    """Temporaries to expand: name, loop, and the range of the loop variable's values."""
    space = Space({n: Form(const=v) for n, v in size_values(program).items()})
    everywhere = placed(program)
    for loop, around in _loops(program.body, space):
        for tensor in sorted(carried(loop, around) & temps):
            if _is_private(tensor, loop, everywhere):
                inside = entered(around, loop)
                value = inside.names[loop.var]
                held = simplified([*inside.held, value.plus(Form.var("="), -1), Form.var("=").plus(value, -1)])
                alone, _ = projected(held, ["="])
                if alone:
                    low = max(-(f.const // f.coef("=")) for f in alone if f.coef("=") > 0)
                    high = min(f.const // -f.coef("=") for f in alone if f.coef("=") < 0)
                    yield tensor, loop, low, high


def _loops(body: Iterable[Statement], space: Space) -> Iterator[tuple[For, Space]]:
    for one in body:
        if isinstance(one, For):
            yield one, space
            yield from _loops(one.body, entered(space, one))
        elif isinstance(one, If):
            inside = space.copy()
            inside.held += inside.conditions(one.test)
            yield from _loops(one.body, inside)


def _is_private(tensor: str, loop: For, everywhere: list[Placed]) -> bool:
    """Whether all accesses are in the loop and read only what the first statement assigned in the same turn."""
    using = [(one, access, access is one.statement.target) for one in everywhere
             for access in (*read_by(one.statement), one.statement.target) if access.tensor == tensor]
    if not using or any(not any(x is loop for x in one.loops) for one, _, _ in using):
        return False
    first = using[0][0]
    if first.statement.update != "=" or first.statement.target.tensor != tensor or not using[0][2]:
        return False
    return all(_covers(first, one, access) for one, access, _ in using[1:])


def _covers(first: Placed, one: Placed, access: Access) -> bool:
    """Whether `first` assigns every element of an access in the same turn of all loops that both are in."""
    common = {a.var for a, b in zip(first.loops, one.loops, strict=False) if a is b}
    assigned = _image(first, first.statement.target, common)
    used = _image(one, access, common)
    if assigned is None or used is None:
        return False
    (wanted, _), (given, exact) = used, assigned
    return exact and not any(feasible(rest) for rest in subtracted(wanted, given))


def _image(one: Placed, access: Access, common: set[str]) -> tuple[tuple[Form, ...], bool] | None:
    """The elements of an access as constraints on its indices and the common loops."""
    start = simplified(one.space.held)
    forms, sets = index_forms(access, one.space, (start,) if start is not None else ())
    if not sets or any(f is None for f in forms):
        return None
    equal = [part for n, f in enumerate(forms) if f is not None
             for part in (Form.var(str(n)).plus(f, -1), f.plus(Form.var(str(n)), -1))]
    shadow, exact = projected(simplified([*sets[0], *equal]), common | {str(n) for n in range(len(forms))})
    return (shadow, exact) if shadow is not None else None


def _expanded(program: Program, tensor: str, loop: For, low: int, high: int) -> Program:
    """A leading dimension for the values of the loop variable."""
    index: Expr = Name(loop.var)
    if low:
        index = Op("-" if low > 0 else "+", (index, Num(abs(low))))

    def expr(one: Expr) -> Expr:
        if isinstance(one, Access):
            inside = tuple(map(expr, one.indices))
            return Access(one.tensor, (index, *inside) if one.tensor == tensor else inside)
        return Op(one.name, tuple(map(expr, one.args))) if isinstance(one, Op) else one

    def statement(one: Statement) -> Statement:
        if isinstance(one, Assign):
            target = expr(one.target)
            assert isinstance(target, Access)
            return Assign(target, one.update, expr(one.value), one.line)
        return replace(one, body=tuple(map(statement, one.body)))

    tensors = tuple(Declared(t.role, t.name, t.dtype, (Num(high - low + 1), *t.shape)) if t.name == tensor else t
                    for t in program.tensors)
    return replace(program, tensors=tensors, body=tuple(map(statement, program.body)))
