"""Modules with known right answers, as data: source text, sizes, and limits as expressions in the sizes.

An expression is arithmetic in the names of `sizes` and nothing else; it is worked out here, never executed. `at_most`
is the true minimum of what an implementation needs, so that a method that reports more is wrong; `at_least` may be
lower where a careful count may honestly stay below.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from enlist.tools.runtime.errors import EnlistError

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow}
_FUNCTIONS: Mapping[str, Callable[..., int]] = {"min": min, "max": max}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Strict):
    """The limits of one answer, as expressions."""

    at_least: str | int
    at_most: str | int


class Known(_Strict):
    """A module and what is known of it; `why` derives the expressions, `unit` is where its matrix FLOP run."""

    id: str
    why: str
    sizes: dict[str, int]
    matrix_flop: Limits
    fused_bytes: Limits
    unit: str | None
    file: str = ""
    source: str = ""

    def limits(self, name: str) -> tuple[int, int]:
        """(at least, at most) of `matrix_flop` or `fused_bytes`."""
        given: Limits = getattr(self, name)
        return worked_out(given.at_least, self.sizes), worked_out(given.at_most, self.sizes)


def worked_out(expression: str | int, sizes: Mapping[str, int]) -> int:
    """The value of an integer expression; `bad_input` names what it may hold."""
    try:
        return _value(ast.parse(str(expression), mode="eval").body, sizes)
    except (SyntaxError, KeyError, ZeroDivisionError) as error:
        raise EnlistError("bad_input", "a truth is no arithmetic in its sizes", given=str(expression),
                          allowed=f"+ - * // % ** min max, integers, {', '.join(sizes)}", fix=str(error)) from error


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, sizes) for arg in args))
    raise KeyError(ast.unparse(node))


@cache
def written_blind() -> tuple[Known, ...]:
    """The modules of `blind/`, written without sight of any method."""
    folder = Path(__file__).with_name("blind")
    return read(folder / "truths.yaml") if (folder / "truths.yaml").exists() else ()


def read(path: Path) -> tuple[Known, ...]:
    """The modules that a file of truths names, with their source from beside it; `bad_input` on a malformed entry."""
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        return tuple(Known.model_validate(
            entry | {"source": (path.parent / entry["file"]).read_text(encoding="utf-8")}) for entry in data)
    except (ValidationError, KeyError, TypeError) as error:
        raise EnlistError("bad_input", "a truth is malformed", given=path.name,
                          allowed="id, file, why, sizes, matrix_flop, fused_bytes, unit", fix=str(error)) from error
