"""A run that computes every different value once: an implementation that the counts of `lift` may never exceed.

Values are numbered: two evaluations of an operator whose operands have the same numbers are one (with + and * either
way round). It shares nothing with the counting by sets of points.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from enlist.tools.solar.loops.affine import shapes, size_values
from enlist.tools.solar.loops.program import Access, Assign, Expr, For, If, Name, Num, Program, Statement
from enlist.tools.solar.loops.types import FLOATS, cost, divides_by_variable, dtype_of, promoted

WHOLE = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
         "%": lambda a, b: a % b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
         ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "neg": lambda a: -a,
         "and": lambda a, b: a and b, "abs": abs, "max": max, "min": min}


@dataclass
class Memoised:
    """FLOP and special evaluations of a program when each different value is computed once."""

    program: Program
    flop: int = 0
    special: int = 0
    numbers: dict[Any, int] = field(default_factory=dict)

    def run(self) -> "Memoised":
        sizes = size_values(self.program)
        self.dtypes = {t.name: t.dtype for t in self.program.tensors}
        self.held = {t.name: {at: self.number(("in", t.name, at)) for at in product(*map(range, shape))}
                     if t.role == "input" else {} for t in self.program.tensors
                     for shape in [shapes(self.program, sizes)[t.name]]}
        self.body(self.program.body, dict(sizes))
        return self

    def number(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def made(self, key: Any, flop: int, special: int) -> tuple[str, int]:
        if key not in self.numbers:
            self.flop, self.special = self.flop + flop, self.special + special
        return "value", self.number(key)

    def body(self, body: tuple[Statement, ...], names: dict[str, int]) -> None:
        for one in body:
            if isinstance(one, Assign):
                self.assign(one, names)
            elif isinstance(one, If):
                if self.whole(one.test, names):
                    self.body(one.body, names)
            elif isinstance(one, For):
                for turn in range(self.whole(one.lower, names), self.whole(one.upper, names), one.step):
                    self.body(one.body, names | {one.var: turn})

    def whole(self, expr: Expr, names: dict[str, int]) -> int:
        kind, value = self.value(expr, names, False)
        assert kind == "number"
        return value

    def assign(self, one: Assign, names: dict[str, int]) -> None:
        held = self.held[one.target.tensor]
        at = tuple(self.whole(i, names) for i in one.target.indices)
        value = self.value(one.value, names, True)
        if one.update == "=":
            held[at] = value
            return
        met = promoted([self.dtypes[one.target.tensor], dtype_of(one.value, self.dtypes)])
        held[at] = self.made((one.update, held[at], value), int(met in (*FLOATS, "float")), 0)

    def value(self, expr: Expr, names: dict[str, int], sure: bool) -> tuple[str, Any]:
        """("number", n) for what is known from loop variables alone, else ("value", its number)."""
        if isinstance(expr, Num):
            return "number", expr.value
        if isinstance(expr, Name):
            return "number", names[expr.id]
        if isinstance(expr, Access):
            found = self.held[expr.tensor][tuple(self.whole(i, names) for i in expr.indices)]
            return found if isinstance(found, tuple) else ("value", found)
        if expr.name == "select":
            test = self.value(expr.args[0], names, sure)
            if test[0] == "number":
                return self.value(expr.args[1 if test[1] else 2], names, sure)
            before = self.flop, self.special
            branches = [self.value(a, names, False) for a in expr.args[1:]]
            self.flop, self.special = before  # which one is taken is not known: none is counted
            return self.made(("select", test, *branches), 0, 0)
        args = [self.value(a, names, sure) for a in expr.args]
        if all(kind == "number" for kind, _ in args) and expr.name in WHOLE:
            return "number", WHOLE[expr.name](*(n for _, n in args))
        flop, special = cost(expr, self.dtypes)
        if divides_by_variable(expr, self.dtypes):
            self.made(("reciprocal", args[1]), 0, 1)
        kept = sorted(args, key=repr) if expr.name in ("+", "*", "min", "max") else args
        return self.made((expr.name, *kept), flop, special)
