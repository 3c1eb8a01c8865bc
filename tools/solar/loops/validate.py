"""What must hold of a program before it is run or counted: names, dtypes, bounds, and one writer for each element.

Indices are shown to be within bounds for all points of the loops around them, by the constraints of loops, guards and
`select`. Indices that are read from tensors are checked when the program runs.
"""

from collections.abc import Mapping

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.solar.loops.affine import Form, Space, shapes, size_values
from enlist.tools.solar.loops.carry import carried, privatised
from enlist.tools.solar.loops.counting import count
from enlist.tools.solar.loops.footprint import touched
from enlist.tools.solar.loops.placed import Placed, any_access, domain, events, index_forms, placed
from enlist.tools.solar.loops.polyhedra import Set, feasible, projected, simplified
from enlist.tools.solar.loops.printer import show_assign, show_expr
from enlist.tools.solar.loops.program import Access, Name, Program, assigns, parts, read_by


def validate(program: Program) -> None:
    """Raises `bad_input`, naming the line, for the first thing that does not hold."""
    _names(program)
    values = size_values(program)
    for name, shape in shapes(program, values).items():
        if any(n < 0 for n in shape):
            raise EnlistError("bad_input", f"tensor {name} has a negative size", given=str(list(shape)),
                              fix="change the sizes")
    everywhere = placed(program, values)
    sizes = shapes(program, values)
    for one in everywhere:
        _in_bounds(one, sizes)
    _written(program, everywhere)
    for one in placed(privatised(program), values):
        _once(one)


def _names(program: Program) -> None:
    declared = [*(s.name for s in program.sizes), *(t.name for t in program.tensors)]
    twice = next((n for n in declared if declared.count(n) > 1), None)
    if twice:
        raise EnlistError("bad_input", f"{twice} is declared twice", fix="give each size and tensor a name of its own")
    tensors = {t.name: t for t in program.tensors}
    if not program.with_role("output"):
        raise EnlistError("bad_input", "a program needs an output", fix="declare `output NAME: DTYPE[SIZES]`")
    for one in assigns(program.body):
        for access in (one.target, *read_by(one)):
            tensor = tensors.get(access.tensor)
            if tensor is None:
                close = nearest(access.tensor, tensors)
                raise _at(one.line, f"no tensor {access.tensor}", f"one of {', '.join(tensors)}",
                          f"did you mean {close[0]}?" if close else "declare it as input, temp or output")
            if len(access.indices) != len(tensor.shape):
                raise _at(one.line, f"{show_expr(access)} has {len(access.indices)} indices",
                          f"{len(tensor.shape)}, as {access.tensor} is declared", "give one index for each dimension")
        if tensors[one.target.tensor].role == "input":
            raise _at(one.line, f"{one.target.tensor} is an input and cannot be assigned", "outputs and temporaries",
                      "copy it into a temp or an output first")
        for index in (i for a in (one.target, *read_by(one)) for i in a.indices):
            for inner in (p for p in parts(index) if isinstance(p, Access)):
                if "int" not in tensors[inner.tensor].dtype:
                    raise _at(one.line, f"{show_expr(inner)} is an index but {tensors[inner.tensor].dtype}",
                              "integers", "declare the tensor of indices as int64 or int32")


def _at(line: int, what: str, allowed: str, fix: str) -> EnlistError:
    return EnlistError("bad_input", f"line {line}: {what}" if line else what, allowed=allowed, fix=fix)


def _in_bounds(one: Placed, sizes: Mapping[str, tuple[int, ...]]) -> None:
    statement = one.statement
    start = domain(one)
    if start is None:
        return
    for event in events(one):
        if isinstance(event.expr, Access):
            forms, sets = index_forms(event.expr, event.space, event.sets)
            _inside(statement.line, event.expr, forms, sets, sizes)
        elif isinstance(event.expr, Name) and event.expr.id not in event.space.names:
            raise _at(statement.line, f"{event.expr.id} is neither a size nor a loop variable here",
                      ", ".join(event.space.names), f"declare it, or read a scalar tensor as {event.expr.id}[]")
    forms, sets = index_forms(statement.target, one.space, (start,))
    _inside(statement.line, statement.target, forms, sets, sizes)


def _inside(line: int, access: Access, forms: list[Form | None], sets: tuple[Set, ...],
            sizes: Mapping[str, tuple[int, ...]]) -> None:
    for axis, (form, size) in enumerate(zip(forms, sizes[access.tensor], strict=True)):
        if form is None:
            continue
        for one in sets:
            for beyond, side in ((form.times(-1).shifted(-1), "below 0"), (form.shifted(-size), f"above {size - 1}")):
                outside = simplified([*one, beyond])
                if feasible(outside) and _points(outside):
                    raise _at(line, f"index {axis} of {show_expr(access)} goes {side}", f"0 to {size - 1}",
                              "change the loop's bounds, or guard with `if` or `select`")


def _points(forms: Set | None) -> bool:
    """Whether there is a whole point; where that cannot be counted, there may be."""
    try:
        return count(forms) > 0
    except EnlistError:
        return True


def _written(program: Program, everywhere: list[Placed]) -> None:
    written = {one.statement.target.tensor for one in everywhere}
    for tensor in program.tensors:
        if tensor.role == "output" and tensor.name not in written:
            raise EnlistError("bad_input", f"output {tensor.name} is never assigned", fix="assign it, or remove it")
    started: set[str] = {t.name for t in program.with_role("input")}
    for one in everywhere:
        statement = one.statement
        for access in read_by(statement):
            if access.tensor not in written and access.tensor not in started:
                raise _at(statement.line, f"{access.tensor} is read and never assigned", "inputs and what was assigned",
                          "declare it as an input, or assign it first")
        if statement.update == "=":
            started.add(statement.target.tensor)
        elif statement.target.tensor not in started:
            raise _at(statement.line, f"{statement.target.tensor} is reduced into before it has a value",
                      "an assignment before the reduction", f"write `{show_expr(statement.target)} = ...` first")


def _once(one: Placed) -> None:
    """An assignment that reads nothing of its target writes each element once; else only the last turn counts."""
    statement = one.statement
    if statement.update != "=" or any(any_access(i) for i in statement.target.indices):
        return
    where = domain(one)
    if where is None or any(a.tensor == statement.target.tensor for a in read_by(statement)):
        return
    ties: set[str] = set()
    for depth, loop in enumerate(one.loops):
        ties |= carried(loop, _around(one, depth))
    forms, sets = index_forms(statement.target, one.space, (where,))
    found = touched([(s, [f for f in forms if f is not None]) for s in sets])
    if found.exact and found.elements < count(where) and not ties:
        raise _at(statement.line, f"`{show_assign(statement)}` assigns the same element in several turns",
                  "each element once, or a reduction (+=, max=, ...)", "use a reduction, or move it out of the loop")


def _around(one: Placed, depth: int) -> Space:
    """What is named outside of the loop at a depth; constraints of guards inside are left out."""
    outer = {v.var for v in one.loops[depth:]}
    space = Space({n: f for n, f in one.space.names.items() if n not in outer})
    held, _ = projected(simplified(one.space.held), {v for f in space.names.values() for v in f.vars})
    space.held = list(held or ())
    return space
