"""Affine forms with whole coefficients, and what an expression of the IR is as one.

`//` and `%` by a positive constant bring in a helper variable q with c*q <= form < c*(q + 1): it is determined by the
others, so that counts of points do not change. All sizes have values here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.printer import show_expr
from enlist.tools.solar.loops.program import Expr, Name, Num, Op, Program


@dataclass(frozen=True)
class Form:
    """sum of coefficient * variable, plus a constant; terms are sorted and none is zero."""

    terms: tuple[tuple[str, int], ...] = ()
    const: int = 0

    @classmethod
    def of(cls, coefs: Mapping[str, int], const: int = 0) -> "Form":
        return cls(tuple(sorted((v, c) for v, c in coefs.items() if c)), const)

    @classmethod
    def var(cls, name: str) -> "Form":
        return cls(((name, 1),))

    def coef(self, name: str) -> int:
        return next((c for v, c in self.terms if v == name), 0)

    @property
    def vars(self) -> set[str]:
        return {v for v, _ in self.terms}

    def plus(self, other: "Form", times: int = 1) -> "Form":
        coefs = dict(self.terms)
        for v, c in other.terms:
            coefs[v] = coefs.get(v, 0) + times * c
        return Form.of(coefs, self.const + times * other.const)

    def shifted(self, by: int) -> "Form":
        return Form(self.terms, self.const + by)

    def times(self, factor: int) -> "Form":
        return Form.of({v: c * factor for v, c in self.terms}, self.const * factor)

    def with_var(self, name: str, form: "Form") -> "Form":
        """The form where `form` stands for the variable."""
        c = self.coef(name)
        return Form(tuple(t for t in self.terms if t[0] != name), self.const).plus(form, c) if c else self

    def at(self, values: Mapping[str, int]) -> int:
        return self.const + sum(c * values[v] for v, c in self.terms)



@dataclass
class Space:
    """What names mean at one place of a program, and the constraints (`form >= 0`) that hold there."""

    names: dict[str, Form]
    held: list[Form] = field(default_factory=list)
    helpers: dict[tuple[Form, int], str] = field(default_factory=dict)

    def copy(self) -> "Space":
        return Space(dict(self.names), list(self.held), dict(self.helpers))

    def form(self, expr: Expr) -> Form:
        """The affine form of an expression; `bad_input` where it is none."""
        if isinstance(expr, Num) and isinstance(expr.value, int):
            return Form(const=expr.value)
        if isinstance(expr, Name):
            if expr.id not in self.names:
                raise EnlistError("bad_input", f"{expr.id} is neither a size nor a loop variable here",
                                  allowed=", ".join(self.names) or "declared names",
                                  fix=f"declare `size {expr.id} = ...`, or read a scalar tensor as {expr.id}[]")
            return self.names[expr.id]
        if isinstance(expr, Op):
            found = self._operator(expr)
            if found is not None:
                return found
        raise EnlistError("bad_input", "a bound, guard or index must be affine in loop variables",
                          given=show_expr(expr), allowed="loop variables times constants, sums, // and % by constants",
                          fix="read a data-dependent index from an integer tensor: A[idx[i]]")

    def _operator(self, expr: Op) -> Form | None:
        if expr.name not in ("+", "-", "*", "neg", "//", "%", "min", "max"):
            return None
        args = [self.form(a) for a in expr.args]
        if expr.name == "neg":
            return args[0].times(-1)
        if expr.name in ("min", "max"):
            if any(a.terms for a in args):
                return None
            return Form(const=(min if expr.name == "min" else max)(a.const for a in args))
        left, right = args
        if expr.name in ("+", "-"):
            return left.plus(right, 1 if expr.name == "+" else -1)
        if expr.name == "*":
            if left.terms and right.terms:
                return None
            return left.times(right.const) if not right.terms else right.times(left.const)
        if right.terms or right.const < 1:
            return None
        quotient = self._quotient(left, right.const)
        return quotient if expr.name == "//" else left.plus(quotient, -right.const)

    def _quotient(self, form: Form, divisor: int) -> Form:
        if not form.terms:
            return Form(const=form.const // divisor)
        if divisor == 1:
            return form
        key = (form, divisor)
        if key not in self.helpers:
            name = self.helpers[key] = f"{form.terms[0][0]}'{len(self.helpers)}"
            rest = form.plus(Form.var(name), -divisor)
            self.held += [rest, rest.times(-1).shifted(divisor - 1)]
        return Form.var(self.helpers[key])

    def bounds(self, expr: Expr, lower: bool) -> list[Form]:
        """The forms whose maximum (lower bound) or minimum (upper bound) an expression is."""
        if isinstance(expr, Op) and expr.name == ("max" if lower else "min"):
            return [f for a in expr.args for f in self.bounds(a, lower)]
        return [self.form(expr)]

    def conditions(self, test: Expr) -> list[Form]:
        """The constraints that a guard is; `bad_input` where it is no conjunction of affine comparisons."""
        if isinstance(test, Op) and test.name == "and":
            return [f for a in test.args for f in self.conditions(a)]
        if isinstance(test, Op) and test.name in ("<", "<=", ">", ">=", "=="):
            left, right = test.args
            if test.name in (">", ">="):
                left, right = right, left
            strict = 1 if test.name in ("<", ">") else 0
            if isinstance(left, Op) and left.name == "abs" and test.name != "==":
                inside, most = self.form(left.args[0]), self.form(right).shifted(-strict)
                return [most.plus(inside, -1), most.plus(inside)]
            difference = self.form(right).plus(self.form(left), -1)
            return [difference, difference.times(-1)] if test.name == "==" else [difference.shifted(-strict)]
        raise EnlistError("bad_input", "a guard must be affine comparisons joined by `and`", given=show_expr(test),
                          allowed="i <= j, |i - j| <= w, i % 2 == 0 and so on",
                          fix="choose by data with select(condition, a, b) in the value")

    def is_affine_test(self, test: Expr) -> bool:
        """Whether a condition depends on loop variables only, so that it says where its branches are taken."""
        try:
            self.copy().conditions(test)
        except EnlistError:
            return False
        return True


def size_values(program: Program) -> dict[str, int]:
    """The value of every size. Raises `bad_input` for a size that is none."""
    values: dict[str, int] = {}
    for size in program.sizes:
        form = Space({n: Form(const=v) for n, v in values.items()}).form(size.value)
        if not 0 <= form.const <= 1 << 53:
            raise EnlistError("bad_input", f"size {size.name} is out of range", given=str(form.const),
                              allowed="0 to 2^53", fix="give it another value")
        values[size.name] = form.const
    return values


def shapes(program: Program, values: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor in numbers."""
    space = Space({n: Form(const=v) for n, v in values.items()})
    return {t.name: tuple(space.form(e).const for e in t.shape) for t in program.tensors}


def all_vars(forms: Iterable[Form]) -> set[str]:
    return {v for f in forms for v in f.vars}
