"""Array operations of NumPy on the arrays of a translation: elementwise, reductions, products, views."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.program import Access, Assign, Expr, For, Name, Num, Op, Update
from enlist.tools.solar.loops.types import FLOATS, promoted
from enlist.tools.solar.source.values import (
    Array,
    Builder,
    Dim,
    broadcast,
    broadcast_shape,
    dim,
    fault,
    minus,
    number,
    plus,
    scalar,
    times,
)

_START: dict[Update, Callable[[str], Expr]] = {
    "+=": lambda d: Num(0), "*=": lambda d: Num(1), "max=": lambda d: _extreme(d, -1), "min=": lambda d: _extreme(d, 1)}
_INTEGERS = {"int64": 63, "int32": 31, "int16": 15, "int8": 7}


def _extreme(dtype: str, sign: int) -> Expr:
    if dtype in FLOATS:
        return number(sign * float("inf"))
    if dtype in _INTEGERS:
        return number(sign * (2 ** _INTEGERS[dtype] - 1))
    return Num((255 if dtype == "uint8" else 1) if sign > 0 else 0)


def elementwise(to: Builder, name: str, *args: Array) -> Array:
    """An operator or function of the IR on arrays that broadcast."""
    return combined(to, lambda *parts: Op(name, parts), *args)


def combined(to: Builder, made: Callable[..., Expr], *args: Array) -> Array:
    """An expression of the operands' elements, which broadcast."""
    shape = broadcast_shape([a.shape for a in args], to.line)
    wide = [broadcast(a, shape) for a in args]
    dtype = to.dtype(made(*(a.at(tuple(Num(0) for _ in shape)) for a in wide)))
    dtype = {"int": "int64", "float": "float64"}.get(dtype, dtype) if shape else dtype
    return to.mapped(shape, dtype, lambda index: made(*(a.at(index) for a in wide)))


def power(to: Builder, base: Array, exponent: float | Array) -> Array:
    """base ** exponent: small whole powers are products, a half is a root."""
    if isinstance(exponent, int) and 1 <= exponent <= 4:
        return combined(to, lambda x: reduce(lambda a, b: Op("*", (a, b)), [x] * exponent), base)
    if exponent == 0.5:
        return elementwise(to, "sqrt", base)
    if exponent in (-1, -0.5):
        inside = base if exponent == -1 else elementwise(to, "sqrt", base)
        return combined(to, lambda x: Op("/", (Num(1), x)), inside)
    return elementwise(to, "pow", base, exponent if isinstance(exponent, Array) else scalar(
        number(exponent), "float" if isinstance(exponent, float) else "int"))


def axes_of(axis: object, rank: int, line: int) -> tuple[int, ...]:
    """The axes that an `axis` argument names, all for None."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = tuple(a % rank if isinstance(a, int) and -rank <= a < rank else -1 for a in given)
    if -1 in found:
        raise EnlistError("bad_input", f"line {line}: no axis {axis} in {rank} dimensions", fix="mend the axis")
    return found


def reduced(to: Builder, array: Array, update: Update, axis: object = None, keepdims: bool = False,
            dtype: str | None = None) -> Array:
    """sum, prod, max or min over axes."""
    gone = axes_of(axis, len(array.shape), to.line)
    kept = [n for n in range(len(array.shape)) if n not in gone]
    made = dtype or ("int64" if array.dtype != "uint8" and array.dtype not in FLOATS and update in ("+=", "*=")
                     else array.dtype)
    made = {"float": "float64", "int": "int64"}.get(made, made)

    def value(outer: tuple[Expr, ...], inner: tuple[Expr, ...]) -> Expr:
        index: list[Expr] = [Num(0)] * len(array.shape)
        for place, n in enumerate(kept):
            index[n] = outer[place]
        for place, n in enumerate(gone):
            index[n] = inner[place]
        return array.at(tuple(index))
    shape = [array.shape[n] for n in kept]
    result = to.reduced(shape, [array.shape[n] for n in gone], made, _START[update](made), update, value)
    if not keepdims:
        return result
    return Array(tuple(1 if n in gone else s for n, s in enumerate(array.shape)), made,
                 lambda index: result.at(tuple(index[n] for n in kept)))


def mean(to: Builder, array: Array, axis: object = None, keepdims: bool = False) -> Array:
    gone = axes_of(axis, len(array.shape), to.line)
    dtype = array.dtype if array.dtype in FLOATS else "float64"
    total = reduced(to, array, "+=", axis, keepdims, dtype)
    n: Dim = reduce(times, (array.shape[a] for a in gone), 1)  # type: ignore
    return combined(to, lambda x: Op("/", (x, dim(n))), total)


def variance(to: Builder, array: Array, axis: object = None, keepdims: bool = False, ddof: int = 0) -> Array:
    away = elementwise(to, "-", array, mean(to, array, axis, True))
    total = reduced(to, power(to, away, 2), "+=", axis, keepdims)
    n: Dim = minus(reduce(times, (array.shape[a] for a in axes_of(axis, len(array.shape), to.line)), 1), ddof)  # type: ignore
    return combined(to, lambda x: Op("/", (x, dim(n))), total)


def cumulative(to: Builder, array: Array, axis: int | None) -> Array:
    """cumsum along an axis, of the flattened array without one."""
    if axis is None:
        array, axis = reshaped(to, array, (-1,)), 0
    axis = axes_of(axis, len(array.shape), to.line)[0]
    dtype = array.dtype if array.dtype in FLOATS else "int64"
    made = to.temporary(array.shape, dtype)
    outer = [s for n, s in enumerate(array.shape) if n != axis]

    def along(index: tuple[Expr, ...], place: Expr) -> tuple[Expr, ...]:
        return (*index[:axis], place, *index[axis:])
    turn = to.fresh("i")

    def body(index: tuple[Expr, ...]) -> list:  # type: ignore[type-arg]
        first, here = made.at(along(index, Num(0))), made.at(along(index, Name(turn)))
        assert isinstance(first, Access) and isinstance(here, Access)
        before = made.at(along(index, Op("-", (Name(turn), Num(1)))))
        return [Assign(first, "=", array.at(along(index, Num(0))), to.line),
                For(turn, Num(1), dim(array.shape[axis]), 1, (Assign(
                    here, "=", Op("+", (before, array.at(along(index, Name(turn))))), to.line),))]
    for one in to.nest(outer, body):
        to.emit(one)
    return made


def einsum(to: Builder, equation: str, args: Sequence[Array]) -> Array:
    """np.einsum with explicit or implied output; an ellipsis stands for leading dimensions."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(args):
        raise EnlistError("bad_input", f"line {to.line}: the equation has {len(terms)} operands, not {len(args)}",
                          given=equation, fix="mend the equation")
    dots = max((len(a.shape) - len(t.replace("...", "")) for t, a in zip(terms, args, strict=True) if "..." in t),
               default=0)
    extra = "0123456789"[:dots]
    terms = [t.replace("...", extra[dots - (len(a.shape) - len(t.replace("...", ""))):] if "..." in t else "")
             for t, a in zip(terms, args, strict=True)]
    joined = "".join(terms)
    right = right.replace("...", extra) if arrow else extra + "".join(
        sorted(c for c in set(joined) - set(extra) if joined.count(c) == 1))
    sizes: dict[str, Dim] = {}
    for term, array in zip(terms, args, strict=True):
        if len(term) != len(array.shape):
            raise EnlistError("bad_input", f"line {to.line}: {term} does not fit {len(array.shape)} dimensions",
                              given=equation, fix="mend the equation")
        for letter, size in zip(term, array.shape, strict=True):
            if sizes.setdefault(letter, size) != size and 1 not in (size, sizes[letter]):
                raise EnlistError("bad_input", f"line {to.line}: {letter} has two sizes in {equation}",
                                  given=f"{sizes[letter]} and {size}", fix="mend the shapes")
            sizes[letter] = size if sizes[letter] == 1 else sizes[letter]
    summed = [c for c in dict.fromkeys(joined) if c not in right]

    def value(outer: tuple[Expr, ...], inner: tuple[Expr, ...]) -> Expr:
        at = dict(zip([*right, *summed], [*outer, *inner], strict=True))
        parts = [a.at(tuple(Num(0) if s == 1 and sizes[c] != 1 else at[c] for c, s in zip(t, a.shape, strict=True)))
                 for t, a in zip(terms, args, strict=True)]
        return reduce(lambda a, b: Op("*", (a, b)), parts)
    dtype = promoted([a.dtype for a in args])
    shape = [sizes[c] for c in right]
    if not summed:
        return to.mapped(shape, dtype, lambda index: value(index, ()))
    return to.reduced(shape, [sizes[c] for c in summed], dtype, Num(0), "+=", value)


def matmul(to: Builder, left: Array, right: Array) -> Array:
    """The @ operator: leading dimensions broadcast."""
    m, n = len(left.shape), len(right.shape)
    if m == 0 or n == 0:
        raise fault(to.line, "a matrix product of scalars")
    inner = (left.shape[-1], right.shape[-2] if n > 1 else right.shape[0])
    if inner[0] != inner[1]:
        raise EnlistError("bad_input", f"line {to.line}: a matrix product of {list(left.shape)} and "
                          f"{list(right.shape)}", fix="mend the shapes of the inputs")
    lead = broadcast_shape([left.shape[:-2], right.shape[:-2]], to.line)
    names = "abcdefgh"[:len(lead)]
    a = broadcast(left, (*lead, *left.shape[-2:])) if m > 1 else left
    b = broadcast(right, (*lead, *right.shape[-2:])) if n > 1 else right
    first, second = (names + "ik" if m > 1 else "k"), (names + "kj" if n > 1 else "k")
    out = names + ("i" if m > 1 else "") + ("j" if n > 1 else "")
    return einsum(to, f"{first},{second}->{out}", [a, b])


def dot(to: Builder, left: Array, right: Array) -> Array:
    """np.dot: the last axis of one with the last but one of the other."""
    if not left.shape or not right.shape:
        return elementwise(to, "*", left, right)
    a, b = "abcdefgh"[:len(left.shape) - 1], "ijlmnopq"[:len(right.shape) - 1]
    second = "k" if len(right.shape) == 1 else f"{b[:-1]}k{b[-1]}"
    return einsum(to, f"{a}k,{second}->{a}{b}", [left, right])


def permuted(array: Array, order: Sequence[int]) -> Array:
    """A transpose: axis n of the result is axis order[n]. `bad_input` where an axis is missing or there twice."""
    if sorted(order) != list(range(len(array.shape))):
        raise EnlistError("bad_input", f"{list(order)} does not order {len(array.shape)} axes", fix="mend the axes")
    places = [order.index(n) for n in range(len(order))]
    return Array(tuple(array.shape[n] for n in order), array.dtype,
                 lambda index: array.at(tuple(index[p] for p in places)), array.owner)


def reshaped(to: Builder, array: Array, shape: Sequence[object]) -> Array:
    """A view in another shape, by flat positions; dimensions that stay keep their own index."""
    old = array.shape
    wanted = [s for s in shape if s != -1]
    if any(not isinstance(s, int) for s in (*old, *wanted)):
        raise fault(to.line, "a reshape of a size that depends on a loop")
    total, known = prod(int(s) for s in old), prod(int(s) for s in wanted)  # type: ignore
    new = [int(s) if s != -1 else total // max(1, known) for s in shape]  # type: ignore[call-overload]
    if prod(new) != total:
        raise EnlistError("bad_input", f"line {to.line}: {list(old)} cannot become {list(new)}", fix="mend the shape")

    def at(index: tuple[Expr, ...]) -> Expr:
        return array.at(tuple(_by_groups(index, new, [int(s) for s in old])))  # type: ignore
    return Array(tuple(new), array.dtype, at, array.owner)


def _by_groups(index: Sequence[Expr], new: list[int], old: list[int]) -> list[Expr]:
    """Indices of the old shape: equal leading parts of both shapes are taken apart."""
    found: list[Expr] = []
    i = j = 0
    while i < len(new) or j < len(old):
        a, b = i + (i < len(new)), j + (j < len(old))
        while (x := prod(new[i:a])) != (y := prod(old[j:b])):
            if x < y and a < len(new):
                a += 1
            elif b < len(old):
                b += 1
            else:
                a += 1
        while a < len(new) and new[a] == 1:
            a += 1
        while b < len(old) and old[b] == 1:
            b += 1
        flat: Dim = 0
        for place in range(i, a):
            if new[place] != 1:
                flat = plus(times(flat, new[place]), index[place])
        todo = [n for n in range(j, b) if old[n] != 1]
        for n in range(j, b):
            inner = prod(old[m] for m in todo if m > n)
            part: Dim = 0
            if old[n] != 1:
                part = flat if inner == 1 else Op("//", (dim(flat), Num(inner)))
                part = part if n == todo[0] else Op("%", (dim(part), Num(old[n])))
            found.append(dim(part))
        i, j = a, b
    return found


def chosen(to: Builder, test: Array, yes: Array, no: Array) -> Array:
    """np.where."""
    return combined(to, lambda c, a, b: Op("select", (c, a, b)), test, yes, no)


def triangle(to: Builder, array: Array, lower: bool, k: int) -> Array:
    """np.tril and np.triu: what they drop is never read."""
    def value(index: tuple[Expr, ...]) -> Expr:
        row, column = index[-2:]
        edge = dim(plus(row, k))
        return Op("select", (Op("<=" if lower else ">=", (column, edge)), array.at(index), Num(0)))
    return to.mapped(array.shape, array.dtype, value)


def joined(to: Builder, arrays: Sequence[Array], axis: int) -> Array:
    """np.concatenate."""
    axis = axes_of(axis, len(arrays[0].shape), to.line)[0]
    starts: list[Dim] = [0]
    for one in arrays:
        starts.append(plus(starts[-1], one.shape[axis]))
    shape = (*arrays[0].shape[:axis], starts[-1], *arrays[0].shape[axis + 1:])
    made = to.temporary(shape, promoted([a.dtype for a in arrays]))
    for one, start in zip(arrays, starts, strict=False):
        part = Array(one.shape, made.dtype, lambda index, start=start: made.at(  # type: ignore[misc]
            (*index[:axis], dim(plus(index[axis], start)), *index[axis + 1:])))
        to.fill(part, one.at)
    return made


