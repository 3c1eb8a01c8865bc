"""The value of expressions at many points at once, with the dtype that each operator has, checked and counted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import erf
from typing import TYPE_CHECKING, Any

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.placed import any_access
from enlist.tools.solar.loops.printer import show_assign, show_expr
from enlist.tools.solar.loops.program import DTYPES, Access, Assign, Expr, Name, Num, Op
from enlist.tools.solar.loops.types import FLOATS, NARROW, cost, divides_by_variable, dtype_of, promoted

if TYPE_CHECKING:
    from enlist.tools.solar.loops.interpreter import Counts

_BINARY: Mapping[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.mod,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "and": np.logical_and, "or": np.logical_or, "pow": np.power, "min": np.minimum, "max": np.maximum}
_UNARY: Mapping[str, Any] = {
    "neg": np.negative, "not": np.logical_not, "abs": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "floor": np.floor,
    "erf": lambda x: np.vectorize(erf, otypes=[np.float64])(x)}
_MANTISSA = {"bfloat16": (7, -126, 3.3895313892515355e38), "float8_e4m3fn": (3, -6, 448.0),
             "float8_e5m2": (2, -14, 57344.0)}
"""Bits of the fraction, smallest normal exponent, largest finite value (bfloat16; OCP 8-bit floating point, 2023)."""


def narrowed(array: np.ndarray, dtype: str) -> np.ndarray:
    """float32 values rounded to nearest even in a narrower format; others as they are."""
    if dtype not in NARROW:
        return array
    bits, least, largest = _MANTISSA[dtype]
    wide = array.astype(np.float64)
    exponent = np.maximum(np.frexp(np.where(np.isfinite(wide), wide, 1.0))[1] - 1, least)
    unit = np.exp2((exponent - bits).astype(np.float64))
    rounded = np.where(np.isfinite(wide), np.rint(wide / unit) * unit, wide)
    over = np.abs(rounded) > largest
    beyond = np.nan if dtype == "float8_e4m3fn" else np.inf
    return np.asarray(np.where(over, np.copysign(beyond, rounded), rounded).astype(np.float32))


def whole_numbers(expr: Expr, sizes: Mapping[str, int], points: Mapping[str, np.ndarray], size: int) -> np.ndarray:
    """A bound, guard or direct index at every point."""
    return np.broadcast_to(np.asarray(_whole(expr, sizes, points)), (size,))


def _whole(expr: Expr, sizes: Mapping[str, int], points: Mapping[str, np.ndarray]) -> Any:
    if isinstance(expr, Num):
        return np.int64(expr.value)
    if isinstance(expr, Name):
        return points[expr.id] if expr.id in points else np.int64(sizes[expr.id])
    assert isinstance(expr, Op)
    args = [_whole(a, sizes, points) for a in expr.args]
    if len(args) == 1:
        return _UNARY[expr.name](args[0])
    found = args[0]
    for other in args[1:]:
        found = _BINARY[expr.name](found, other)
    return found


@dataclass(frozen=True)
class Evaluation:
    """One statement at many points; `sure` is False in a branch that data choose, whose work is not counted."""

    arrays: Mapping[str, np.ndarray]
    known: Mapping[str, np.ndarray]
    read: Mapping[str, np.ndarray]
    dtypes: Mapping[str, str]
    sizes: Mapping[str, int]
    points: Mapping[str, np.ndarray]
    size: int
    counts: "Counts"
    statement: Assign
    sure: bool = True

    def index(self, access: Access) -> tuple[np.ndarray, ...]:
        """The element of an access at every point; `bad_input` out of bounds."""
        array = self.arrays[access.tensor]
        found = []
        for axis, expr in enumerate(access.indices):
            at = np.broadcast_to(np.asarray(self.value(expr)), (self.size,)).astype(np.int64)
            outside = (at < 0) | (at >= array.shape[axis])
            if outside.any():
                raise self._fault(f"index {axis} of {show_expr(access)} is out of bounds",
                                  f"{at[outside][0]}", f"0 to {array.shape[axis] - 1}")
            found.append(at)
        return tuple(found) or (np.zeros(self.size, np.int64),)

    def need_known(self, access: Access, index: tuple[np.ndarray, ...]) -> None:
        """`bad_input` where an element was never written."""
        if not np.all(self.known[access.tensor][index]):
            raise self._fault(f"{show_expr(access)} is read where nobody wrote it", show_assign(self.statement),
                              "elements that an earlier statement assigns")

    def _fault(self, what: str, given: str, allowed: str) -> EnlistError:
        return EnlistError("bad_input", f"line {self.statement.line}: {what}", given=given, allowed=allowed,
                           fix="mend the loop's bounds, or guard the statement")

    def value(self, expr: Expr) -> Any:
        """The value at every point, an array or a scalar."""
        if isinstance(expr, Num):
            return expr.value
        if isinstance(expr, Name):
            return self.points[expr.id] if expr.id in self.points else self.sizes[expr.id]
        if isinstance(expr, Access):
            return self._load(expr)
        if expr.name == "select":
            return self._select(expr)
        args = [self.value(a) for a in expr.args]
        if expr.name in DTYPES:
            return narrowed(np.asarray(args[0]).astype("float32" if expr.name in NARROW else expr.name), expr.name)
        if self.sure:
            flop, special = cost(expr, self.dtypes)
            self.counts.flop += flop * self.size
            self.counts.special += (special + divides_by_variable(expr, self.dtypes)) * self.size
        return self._computed(expr, args)

    def _load(self, access: Access) -> np.ndarray:
        index = self.index(access)
        self.need_known(access, index)
        self.read[access.tensor][index] = True
        return np.asarray(self.arrays[access.tensor][index])

    def _select(self, expr: Op) -> np.ndarray:
        """Only the branch that is taken is evaluated at a point."""
        test, yes, no = expr.args
        chosen = np.broadcast_to(np.asarray(self.value(test)).astype(bool), (self.size,))
        sure = self.sure and not any_access(test)
        dtype = dtype_of(expr, self.dtypes)
        made = np.zeros(self.size, {"int": "int64", "float": "float64"}.get(
            dtype, "float32" if dtype in NARROW else dtype))
        for branch, kept in ((yes, chosen), (no, ~chosen)):
            if kept.any():
                part = replace(self, points={v: p[kept] for v, p in self.points.items()}, size=int(kept.sum()),
                               sure=sure)
                made[kept] = part.value(branch)
        return made

    def _computed(self, expr: Op, args: list[Any]) -> Any:
        weak = all(not isinstance(a, np.ndarray) for a in args)
        met = promoted([dtype_of(a, self.dtypes) for a in expr.args])
        if not weak and met not in ("int", "float"):
            floating = expr.name in ("/", "exp", "log", "sqrt", "tanh", "erf", "sin", "cos", "pow")
            held = "float32" if met in NARROW else met if met in FLOATS or not floating else "float64"
            args = [np.asarray(a).astype(held) for a in args] if expr.name not in ("and", "or", "not") else args
        if len(args) == 1:
            found = _UNARY[expr.name](args[0])
            if expr.name == "erf" and isinstance(args[0], np.ndarray):
                found = found.astype(args[0].dtype)
        else:
            found = args[0]
            for other in args[1:]:
                found = _BINARY[expr.name](found, other)
        made = dtype_of(expr, self.dtypes)
        return narrowed(np.asarray(found), made) if made in NARROW else found
