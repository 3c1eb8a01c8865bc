"""Arrays of a translation: a shape, a dtype, and which element of which tensor each index reads.

Views (transposes, slices, broadcasts, reshapes) are index maps and write nothing. `Builder` collects the tensors and
loop nests; each array operation becomes one nest that writes one temporary. A dimension may depend on the variable of a
loop around it; its temporary is then as large as the largest turn needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.program import (
    Access,
    Assign,
    Declared,
    Expr,
    For,
    Name,
    Num,
    Op,
    Statement,
    Update,
)
from enlist.tools.solar.loops.types import dtype_of

_MOST_STATEMENTS = 1_500
Dim: TypeAlias = int | Num | Name | Access | Op


@dataclass(frozen=True)
class Array:
    """`at` gives the element for one index expression a dimension; `owner` is the tensor that a view may write to."""

    shape: tuple[Dim, ...]
    dtype: str
    at: Callable[[tuple[Expr, ...]], Expr]
    owner: str | None = None


@dataclass(frozen=True)
class Index:
    """A whole number that depends on loop variables."""

    expr: Expr


def number(value: float) -> Expr:
    """A literal; a negative one as a sign and a number, as the parser reads it."""
    if isinstance(value, bool):
        return Num(int(value))
    return Op("neg", (Num(-value),)) if value < 0 else Num(value)


def dim(value: Dim) -> Expr:
    return number(value) if isinstance(value, int) else value


def plus(one: Dim, other: Dim) -> Dim:
    """A sum, folded where both are numbers."""
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    if one == 0 or other == 0:
        return other if one == 0 else one
    if isinstance(other, int) and other < 0:
        return Op("-", (dim(one), Num(-other)))
    return Op("+", (dim(one), dim(other)))


def minus(one: Dim, other: Dim) -> Dim:
    """A difference; what both share is dropped."""
    if one == other:
        return 0
    if isinstance(other, int):
        return plus(one, -other)
    if isinstance(one, Op) and one.name in ("+", "-") and one.args[0] == other:
        rest = one.args[1]
        value = rest.value if isinstance(rest, Num) and isinstance(rest.value, int) else None
        if value is not None:
            return value if one.name == "+" else -value
    return Op("-", (dim(one), dim(other)))


def times(one: Dim, other: Dim) -> Dim:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    return other if one == 1 else one if other == 1 else Op("*", (dim(one), dim(other)))


def fault(line: int, what: str, allowed: str = "the NumPy subset of docs/loop-ir.md") -> EnlistError:
    return EnlistError("unsupported", f"line {line}: the deterministic translator does not know {what}",
                       allowed=allowed, fix="write that part in the subset, write the loops by hand as FILE.loop, or "
                       "ask with a language model configured")


@dataclass
class Builder:
    """The program under construction; `blocks` are the bodies of the loops that are open."""

    tensors: list[Declared] = field(default_factory=list)
    blocks: list[list[Statement]] = field(default_factory=lambda: [[]])
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    made: int = 0
    line: int = 0
    emitted: int = 0

    def fresh(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def emit(self, statement: Statement) -> None:
        self.emitted += 1
        if self.emitted > _MOST_STATEMENTS:
            raise fault(self.line, f"code that unrolls to over {_MOST_STATEMENTS} array operations",
                        "loops over range, which stay loops")
        self.blocks[-1].append(statement)

    def highest(self, value: Dim) -> int:
        """The largest value of a dimension over all turns of the loops around."""
        return value if isinstance(value, int) else self._interval(value)[1]

    def _interval(self, expr: Expr) -> tuple[int, int]:
        if isinstance(expr, Num):
            return int(expr.value), int(expr.value)
        if isinstance(expr, Name) and expr.id in self.ranges:
            return self.ranges[expr.id]
        if isinstance(expr, Op) and expr.name in ("+", "-", "*", "neg", "min", "max", "//"):
            inside = [self._interval(a) for a in expr.args]
            if expr.name == "neg":
                return -inside[0][1], -inside[0][0]
            (a, b), (c, d) = inside[0], inside[1]
            if expr.name == "+":
                return a + c, b + d
            if expr.name == "-":
                return a - d, b - c
            if expr.name in ("min", "max"):
                choose = min if expr.name == "min" else max
                return choose(a, c), choose(b, d)
            if expr.name == "//":
                return a // d, b // c
            corners = [a * c, a * d, b * c, b * d]
            return min(corners), max(corners)
        raise fault(self.line, "a size that depends on data")

    def temporary(self, shape: Sequence[Dim], dtype: str, stem: str = "t") -> Array:
        name = self.fresh(stem)
        self.tensors.append(Declared("temp", name, dtype, tuple(Num(self.highest(d)) for d in shape)))
        return tensor(name, tuple(shape), dtype)

    def dtype(self, expr: Expr) -> str:
        return dtype_of(expr, {t.name: t.dtype for t in self.tensors})

    def nest(self, shape: Sequence[Dim], body: Callable[[tuple[Expr, ...]], list[Statement]]) -> list[Statement]:
        """Loops over all indices of a shape around what `body` makes of them."""
        names = [self.fresh("i") for _ in shape]
        inner = body(tuple(Name(n) for n in names))
        for name, size in reversed(list(zip(names, shape, strict=True))):
            inner = [For(name, Num(0), dim(size), 1, tuple(inner))]
        return inner

    def fill(self, target: Array, value: Callable[[tuple[Expr, ...]], Expr], update: Update = "=") -> Array:
        """`target[index] = value(index)` for all of its indices."""
        def body(index: tuple[Expr, ...]) -> list[Statement]:
            access = target.at(index)
            assert isinstance(access, Access)
            return [Assign(access, update, value(index), self.line)]
        for one in self.nest(target.shape, body):
            self.emit(one)
        return target

    def mapped(self, shape: Sequence[Dim], dtype: str, value: Callable[[tuple[Expr, ...]], Expr]) -> Array:
        """A new temporary filled with `value`; one without dimensions stays an expression."""
        if not shape:
            return Array((), dtype, lambda index: value(()))
        return self.fill(self.temporary(shape, dtype), value)

    def reduced(self, shape: Sequence[Dim], inner: Sequence[Dim], dtype: str, start: Expr, update: Update,
                value: Callable[[tuple[Expr, ...], tuple[Expr, ...]], Expr]) -> Array:
        """A reduction of `value(outer, inner)` over all inner indices."""
        made = self.temporary(shape, dtype)

        def body(index: tuple[Expr, ...]) -> list[Statement]:
            access = made.at(index)
            assert isinstance(access, Access)
            return [Assign(access, "=", start, self.line), *self.nest(
                inner, lambda within: [Assign(access, update, value(index, within), self.line)])]
        for one in self.nest(shape, body):
            self.emit(one)
        return made


def tensor(name: str, shape: tuple[Dim, ...], dtype: str) -> Array:
    """A whole tensor."""
    return Array(shape, dtype, lambda index: Access(name, tuple(index)), name)


def scalar(expr: Expr, dtype: str) -> Array:
    """A value without dimensions."""
    return Array((), dtype, lambda index: expr)


def broadcast_shape(shapes: Sequence[tuple[Dim, ...]], line: int) -> tuple[Dim, ...]:
    """NumPy's rule. Raises `bad_input` for shapes that do not fit."""
    rank = max((len(s) for s in shapes), default=0)
    found: list[Dim] = []
    for axis in range(rank):
        sizes = [s[axis - rank + len(s)] for s in shapes if axis - rank + len(s) >= 0]
        wide = [s for s in sizes if s != 1] or [1]
        if any(w != wide[0] for w in wide):
            raise EnlistError("bad_input", f"line {line}: shapes do not broadcast",
                              given=", ".join(str(list(s)) for s in shapes), fix="mend the shapes of the inputs")
        found.append(wide[0])
    return tuple(found)


def broadcast(array: Array, shape: tuple[Dim, ...]) -> Array:
    """A view of `shape`, in which dimensions of one element repeat."""
    drop = len(shape) - len(array.shape)

    def at(index: tuple[Expr, ...]) -> Expr:
        return array.at(tuple(Num(0) if array.shape[n] == 1 and shape[n + drop] != 1 else index[n + drop]
                              for n in range(len(array.shape))))
    return array if array.shape == shape else Array(shape, array.dtype, at)
