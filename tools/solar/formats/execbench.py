"""SOL-ExecBench problems: `definition.json` (axes, tensors, reference code) with `workload.jsonl` (a shape a line).

A definition names its axes: constants, variables that each workload sets, and expressions over the others. Its
`reference` is Python text with a function `run`. For every workload a model file is written out of it: the reference,
unchanged, and a `get_inputs()` of the declared shapes and dtypes. Nothing is run here. FlashInfer traces are of the
same family and are read too. Keys that are not needed are passed over, because the format is not ours and grows.
"""

import ast
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest

_MOST_BYTES = 16 << 20
_MOST_WORKLOADS = 1000
_MOST_SIZE = 1 << 40  # of an axis; more is a slip, and products of such would take for ever
DTYPES: Mapping[str, str] = {
    "float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2", "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz", "float8_e8m0fnu": "float8_e8m0fnu", "float4_e2m1": "float4_e2m1fn_x2",
    "float4_e2m1fn_x2": "float4_e2m1fn_x2", "int64": "int64", "int32": "int32", "int16": "int16", "int8": "int8",
    "uint8": "uint8", "bool": "bool"}
"""Names of the format's dtypes in torch."""


_Model = TypeVar("_Model", bound=BaseModel)


class _Foreign(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Axis(_Foreign):
    """A size: `value` of a constant, `expression` over other axes, or nothing where a workload sets it."""

    type: Literal["const", "var", "expr"]
    value: int | None = None
    expression: str = ""


class Declared(_Foreign):
    """A tensor by the names of its axes; a Python scalar has the shape None."""

    shape: tuple[str | int, ...] | None = None
    dtype: str


class Definition(_Foreign):
    """One problem; `reference` is the source text of `run`."""

    name: str
    axes: dict[str, Axis] = Field(default_factory=dict)
    inputs: dict[str, Declared]
    reference: str
    custom_inputs_entrypoint: str | None = None


class Given(_Foreign):
    """How a workload gives one input; only a scalar's value matters to us."""

    type: str
    value: bool | int | float | str | None = None


class Workload(_Foreign):
    """One line of `workload.jsonl`."""

    uuid: str = ""
    axes: dict[str, int] = Field(default_factory=dict)
    inputs: dict[str, Given] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """ "batch_size=4 seq_len=128"; the id where it has no axes."""
        return " ".join(f"{name}={size}" for name, size in self.axes.items()) or self.uuid or "as declared"


def read_definition(path: Path) -> Definition:
    """The definition in a file; `bad_input` names the field that is wrong. Without the field `reference` the code is
    taken from `reference.py` beside it."""
    data = _json(path, _text(path), path.name)
    beside = path.with_name("reference.py")
    if isinstance(data, dict) and "reference" not in data and beside.is_file():
        data["reference"] = _text(beside)
    made = _parsed(Definition, data, path.name)
    try:
        names = {n.name for n in ast.parse(made.reference).body if isinstance(n, ast.FunctionDef)}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EnlistError("bad_input", f"{path.name}: the reference is no Python: {error}",
                          allowed="source text with a function run", fix="mend the field `reference`") from error
    if "run" not in names:
        raise EnlistError("bad_input", f"{path.name}: the reference has no function run",
                          given=f"functions {', '.join(sorted(names)) or 'none'}", allowed="def run(...)",
                          fix="name the reference function run")
    return made


def read_workloads(path: Path) -> tuple[Workload, ...]:
    """The workloads of a file, one a line; `bad_input` names the line."""
    lines = [(number, line) for number, line in enumerate(_text(path).splitlines(), 1) if line.strip()]
    if not 0 < len(lines) <= _MOST_WORKLOADS:
        raise EnlistError("bad_input", f"{path.name} has {len(lines)} workloads", allowed=f"1 to {_MOST_WORKLOADS}",
                          fix="give one JSON object a line, and split what is longer")
    found = []
    for number, line in lines:
        where = f"{path.name} line {number}"
        data = _json(path, line, where)
        if isinstance(data, dict) and isinstance(data.get("workload"), dict):  # a FlashInfer trace wraps it
            data = data["workload"]
        found.append(_parsed(Workload, data, where))
    return tuple(found)


def sizes(definition: Definition, workload: Workload) -> dict[str, int]:
    """The size of every axis under a workload; `bad_input` where one is missing, unknown or no size."""
    unknown = [name for name in workload.axes if name not in definition.axes]
    if unknown:
        near = nearest(unknown[0], definition.axes)
        raise EnlistError("bad_input", f"{definition.name}: the workload sets an axis that is not declared",
                          given=unknown[0], allowed=", ".join(definition.axes) or "no axes",
                          fix=f"did you mean {near[0]}?" if near else "take it out of the workload")
    known: dict[str, int] = {}

    def size(name: str, above: tuple[str, ...] = ()) -> int:
        if name in known:
            return known[name]
        axis = definition.axes.get(name)
        if axis is None or name in above:
            raise _refuse(definition, f"axis {name} is {'defined by itself' if name in above else 'not declared'}",
                          " -> ".join((*above, name)))
        value: Any = axis.value if axis.type == "const" else workload.axes.get(name)
        if axis.type == "expr":
            value = _evaluate(definition, axis.expression, lambda other: size(other, (*above, name)))
        if value is None:
            raise EnlistError("bad_input", f"{definition.name}: nothing sets the axis {name}",
                              given=workload.label, allowed="a size for every axis of type var",
                              fix=f"add it to workload.jsonl, or give `--input {name}=...`")
        if isinstance(value, bool) or value != int(value) or not 0 <= value <= _MOST_SIZE:
            raise _refuse(definition, f"axis {name} is no size", str(value))
        known[name] = int(value)
        return known[name]

    return {name: size(name) for name in definition.axes}


def model_source(definition: Definition, workload: Workload) -> str:
    """A model file whose target is `run`: the reference with a `get_inputs()` for this workload."""
    axes = sizes(definition, workload)
    scalars = {name: given.value for name, given in workload.inputs.items() if given.value is not None}
    made = {name: _argument(definition, name, declared, axes, scalars) for name, declared in definition.inputs.items()}
    order = _order(definition)
    entry = definition.custom_inputs_entrypoint
    lines = [definition.reference, "", "", "def get_inputs():", "    import torch", ""]
    if None in made.values() and entry and entry.isidentifier():  # scalars that only the problem's own code gives
        lines += [f"    made = {entry}({axes | scalars!r}, 'meta')", f"    return [made[name] for name in {order!r}]"]
    else:
        missing = [name for name, text in made.items() if text is None]
        if missing:
            raise EnlistError("bad_input", f"{definition.name}: the workload gives no value for {missing[0]}",
                              given=workload.label, allowed='{"type": "scalar", "value": ...} for each Python scalar',
                              fix="add the value to workload.jsonl")
        lines += ["    return [", *(f"        {made[name]},  # {name}" for name in order), "    ]"]
    return "\n".join([*lines, ""])


def _argument(definition: Definition, name: str, declared: Declared, axes: Mapping[str, int],
              scalars: Mapping[str, Any]) -> str | None:
    """Source text of one input; None for a scalar without a value."""
    if not name.isidentifier():
        raise _refuse(definition, "an input's name is no Python name", name)
    if declared.shape is None:
        value = scalars.get(name)
        if isinstance(value, float) and not math.isfinite(value):
            return f"float({str(value)!r})"
        return None if value is None else repr(value)
    if declared.dtype not in DTYPES:
        raise EnlistError("bad_input", f"{definition.name}: unknown dtype of {name}", given=declared.dtype,
                          allowed=", ".join(DTYPES), fix=_near(declared.dtype))
    shape = []
    for axis in declared.shape:
        size = axis if isinstance(axis, int) else axes.get(axis)
        if size is None and isinstance(axis, str):
            size = int(axis) if axis.isdecimal() else _evaluate(definition, axis, lambda other: axes[other])
        if size is None or not 0 <= size <= _MOST_SIZE:
            raise _refuse(definition, f"the shape of {name} has no size", str(axis))
        shape.append(int(size))
    return f"torch.empty({tuple(shape)!r}, dtype=torch.{DTYPES[declared.dtype]})"


def _order(definition: Definition) -> list[str]:
    """The inputs in the order of run's parameters where those are named like them, else as declared."""
    run = next(n for n in ast.parse(definition.reference).body if isinstance(n, ast.FunctionDef) and n.name == "run")
    parameters = [a.arg for a in (*run.args.posonlyargs, *run.args.args)]
    return parameters if set(parameters) == set(definition.inputs) else list(definition.inputs)


_OPERATORS: Mapping[type, Any] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b, ast.Div: lambda a, b: a / b, ast.Mod: lambda a, b: a % b}
_FUNCTIONS: Mapping[str, Any] = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor, "int": int}


def _evaluate(definition: Definition, text: str, size: Any) -> Any:
    """An expression over axes: + - * / // %, min, max, ceil, floor; nothing of it is run as Python."""
    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        if isinstance(node, ast.Name) and node.id in definition.axes:
            return size(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call) and not node.keywords:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in _FUNCTIONS and node.args:
                return _FUNCTIONS[called](*map(value, node.args))
        raise _refuse(definition, "an expression over axes cannot be read", text)

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError, TypeError) as error:
        raise _refuse(definition, f"an expression over axes cannot be evaluated ({error})", text) from error


def _refuse(definition: Definition, message: str, given: str) -> EnlistError:
    return EnlistError("bad_input", f"{definition.name}: {message}", given=given[:200],
                       allowed="sizes that are whole numbers, names of axes, and + - * / // % min max over them",
                       fix="mend definition.json or workload.jsonl")


def _near(dtype: str) -> str | None:
    found = nearest(re.sub(r"^torch\.", "", dtype), DTYPES)
    return f"did you mean {found[0]}?" if found else None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise EnlistError("bad_input", f"{path.name} is too large", given=f"{path.stat().st_size} bytes",
                              allowed=f"{_MOST_BYTES} bytes", fix="split it")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise EnlistError("bad_input", f"{path.name} cannot be read: {error}", allowed="UTF-8 text",
                          fix="check the file") from error


def _json(path: Path, text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EnlistError("bad_input", f"{where} is no JSON: {error}", allowed="JSON as SOL-ExecBench writes it",
                          fix=f"mend {path.name}") from error


def _parsed(model: type[_Model], data: Any, where: str) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"])) or "the document"
        raise EnlistError("bad_input", f"{where}: {field}: {fault['msg']}",
                          allowed="a definition with name, axes, inputs, reference; a workload with axes and inputs",
                          fix="compare it with the SOL-ExecBench format") from error
