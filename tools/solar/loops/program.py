"""Programs of the Affine Loop IR as plain data.

A program declares sizes with values, typed tensors, and loop nests. Loop bounds, guards and direct indices are affine
in loop variables (`//` and `%` by a positive constant are allowed too); an index may also be read from an integer
tensor. A statement assigns to one element or reduces into it. `parse` and `show` turn text into this and back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Role = Literal["input", "output", "temp"]
Update = Literal["=", "+=", "*=", "max=", "min="]
DTYPES = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16",
          "int8", "uint8", "bool")
FUNCTIONS = {"min": 2, "max": 2, "exp": 1, "log": 1, "sqrt": 1, "tanh": 1, "erf": 1, "sin": 1, "cos": 1, "abs": 1,
             "floor": 1, "pow": 2, "select": 3, **dict.fromkeys(DTYPES, 1)}
"""Functions by how many arguments they take; min and max take two or more. A dtype's name is a cast."""
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Num:
    """A literal; it takes the dtype of what it meets."""

    value: int | float


@dataclass(frozen=True)
class Name:
    """A loop variable or a size."""

    id: str


@dataclass(frozen=True)
class Access:
    """An element of a tensor."""

    tensor: str
    indices: tuple["Expr", ...]


@dataclass(frozen=True)
class Op:
    """An operator ("+", "neg", "<", "and", "not", ...) or a function of `FUNCTIONS`."""

    name: str
    args: tuple["Expr", ...]


Expr = Num | Name | Access | Op


@dataclass(frozen=True)
class Size:
    """A symbolic size and its value, an expression of earlier sizes."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Declared:
    """A tensor: an input, an output, or a temporary."""

    role: Role
    name: str
    dtype: str
    shape: tuple[Expr, ...]


@dataclass(frozen=True)
class Assign:
    """`target = value`, or a reduction into the target; `line` is where it stands, for messages."""

    target: Access
    update: Update
    value: Expr
    line: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Assign) and (self.target, self.update, self.value) == (
            other.target, other.update, other.value)

    def __hash__(self) -> int:
        return hash((self.target, self.update, self.value))


@dataclass(frozen=True)
class For:
    """`var` from `lower` up to but not including `upper` by `step`; down to it where the step is negative."""

    var: str
    lower: Expr
    upper: Expr
    step: int
    body: tuple["Statement", ...]


@dataclass(frozen=True)
class If:
    """A guard: a comparison of affine forms, or several joined by "and"."""

    test: Expr
    body: tuple["Statement", ...]


Statement = Assign | For | If


@dataclass(frozen=True)
class Program:
    """A whole program."""

    name: str
    sizes: tuple[Size, ...]
    tensors: tuple[Declared, ...]
    body: tuple[Statement, ...]

    def tensor(self, name: str) -> Declared:
        return next(t for t in self.tensors if t.name == name)

    def with_role(self, role: Role) -> tuple[Declared, ...]:
        return tuple(t for t in self.tensors if t.role == role)


def parts(expr: Expr) -> Iterator[Expr]:
    """An expression and all inside it, indices of accesses too."""
    yield expr
    inside = expr.indices if isinstance(expr, Access) else expr.args if isinstance(expr, Op) else ()
    for one in inside:
        yield from parts(one)


def accesses(expr: Expr) -> list[Access]:
    """All reads of an expression, those in indices too."""
    return [e for e in parts(expr) if isinstance(e, Access)]


def read_by(statement: Assign) -> list[Access]:
    """What a statement reads beside the element that it reduces into."""
    return accesses(statement.value) + [a for i in statement.target.indices for a in accesses(i)]


def assigns(body: tuple[Statement, ...]) -> Iterator[Assign]:
    """All assignments below, in the order of the text."""
    for one in body:
        if isinstance(one, Assign):
            yield one
        else:
            yield from assigns(one.body)
