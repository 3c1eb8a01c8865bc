"""Subscripts of NumPy on the arrays of a translation: slices and whole numbers as views, integer arrays as gathers."""

from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.program import Expr, Num, Op
from enlist.tools.solar.source.functions import as_array
from enlist.tools.solar.source.values import (
    Array,
    Builder,
    Dim,
    Index,
    broadcast,
    broadcast_shape,
    dim,
    fault,
    minus,
    plus,
)


def subscripted(to: Builder, array: Array, key: Any) -> Array:
    """`array[key]`: `key` is a tuple of whole numbers, `Index`, slices, None, Ellipsis and integer arrays."""
    parts = list(key) if isinstance(key, tuple) else [key]
    named = sum(p is not None and p is not Ellipsis for p in parts)
    rank = len(array.shape)
    if named > rank:
        raise EnlistError("bad_input", f"line {to.line}: {named} indices for {rank} dimensions", fix="mend the index")
    place = parts.index(Ellipsis) if any(p is Ellipsis for p in parts) else len(parts)
    whole = [slice(None)] * (rank - named)
    parts = [*parts[:place], *whole, *parts[place + 1:]]
    chosen = [as_array(p, to.line) for p in parts if isinstance(p, Array) and p.shape]
    if any(c.dtype == "bool" for c in chosen):
        raise fault(to.line, "a choice of elements by a mask (data say how many there are)", "np.where(mask, a, b)")
    ids = broadcast_shape([c.shape for c in chosen], to.line) if chosen else ()
    shape: list[Dim] = []
    plan: list[tuple[str, Any, int]] = []  # what each dimension of the array takes, and from which index
    first = next((n for n, p in enumerate(parts) if isinstance(p, Array) and p.shape), -1)
    start = 0
    axis = 0
    for n, part in enumerate(parts):
        if n == first:
            start = len(shape)
            shape += list(ids)
        if part is None:
            shape.append(1)
            continue
        size = array.shape[axis]
        axis += 1
        if isinstance(part, slice):
            low, step, length = _slice(to, part, size)
            plan.append(("slice", (low, step), len(shape)))
            shape.append(length)
        elif isinstance(part, Array) and part.shape:
            plan.append(("ids", broadcast(part, ids), 0))
        else:
            plan.append(("fixed", _fixed(to, part, size), 0))

    def at(index: tuple[Expr, ...]) -> Expr:
        found: list[Expr] = []
        for kind, what, place in plan:
            if kind == "fixed":
                found.append(what)
            elif kind == "ids":
                found.append(what.at(index[start:start + len(ids)]))
            else:
                low, step = what
                moved = index[place] if step == 1 else Op("*", (index[place], Num(step))) if step > 0 else Op(
                    "neg", (Op("*", (index[place], Num(-step))) if step != -1 else index[place],))
                found.append(dim(plus(moved, low)))
        return array.at(tuple(found))
    view = Array(tuple(shape), array.dtype, at, array.owner)
    return to.mapped(view.shape, view.dtype, at) if chosen else view


def _fixed(to: Builder, part: Any, size: Dim) -> Expr:
    if isinstance(part, bool):
        raise fault(to.line, "a boolean as an index")
    if isinstance(part, int):
        return dim(plus(size, part) if part < 0 else part)
    if isinstance(part, Index):
        return part.expr
    if isinstance(part, Array):
        return part.at(())
    raise fault(to.line, f"an index that is {type(part).__name__}")


def _slice(to: Builder, part: slice, size: Dim) -> tuple[Dim, int, Dim]:
    """First index, step and length of a slice."""
    step = part.step if part.step is not None else 1
    if not isinstance(step, int) or step == 0:
        raise fault(to.line, "a slice whose step depends on a loop")
    ends = [_end(to, e, size) for e in (part.start, part.stop)]
    if step < 0:
        if not isinstance(size, int) or any(e is not None and not isinstance(e, int) for e in ends):
            raise fault(to.line, "a slice backwards that depends on a loop")
        low, stop, _ = slice(part.start, part.stop, step).indices(size)
        return low, step, len(range(low, stop, step))
    low = ends[0] if ends[0] is not None else 0  # type: ignore
    high = ends[1] if ends[1] is not None else size
    if isinstance(size, int):
        high = min(high, size) if isinstance(high, int) else high
        low = min(low, size) if isinstance(low, int) else low
    length = minus(high, low)
    if isinstance(length, int):
        return low, step, max(0, -(-length // step))
    if step > 1:
        length = Op("//", (dim(plus(length, step - 1)), Num(step)))
    return low, step, length


def _end(to: Builder, end: Any, size: Dim) -> Dim | None:
    if end is None:
        return None
    if isinstance(end, int):
        return plus(size, end) if end < 0 else end
    if isinstance(end, Index):
        return end.expr
    raise fault(to.line, "a slice whose ends depend on data")
