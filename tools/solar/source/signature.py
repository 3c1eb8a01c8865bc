"""What a NumPy function takes: from a specification, from get_inputs(), from annotations, read and never run."""

import ast
import re
from dataclasses import dataclass
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.program import DTYPES
from enlist.tools.solar.source.values import fault

_WHOLE = re.compile(r"\s*(?:(\w+)\s*=)?\s*(\w+)\s*\[\s*([^\]]*)\]\s*$")
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "float": "float64",
          "int": "int64", "double": "float64", "single": "float32", "half": "float16", "bool_": "bool", "f4": "float32",
          "f8": "float64", "i8": "int64", "i4": "int32", "long": "int64", "intp": "int64"}
_MADE = ("rand", "randn", "random", "random_sample", "standard_normal", "normal", "uniform", "randint", "integers",
         "zeros", "ones", "empty", "full", "arange")


@dataclass(frozen=True)
class Given:
    """An argument: a tensor, or a constant where `dtype` is empty."""

    dtype: str
    shape: tuple[int, ...] = ()
    value: Any = None


def dtype_named(text: str, line: int = 0) -> str:
    """The IR's name of a dtype."""
    name = text.rpartition(".")[2]
    name = _SHORT.get(name, name)
    if name not in DTYPES:
        raise fault(line, f"the dtype {text}", ", ".join(DTYPES))
    return name


def constants(tree: ast.Module) -> dict[str, Any]:
    """Module-level names of numbers, strings and tuples of them."""
    found: dict[str, Any] = {}
    for one in tree.body:
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            try:
                found[one.targets[0].id] = static(one.value, found)
            except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                continue
    return found


def static(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of a constant expression; ValueError where it is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(static(e, names) for e in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -static(node.operand, names)
    if isinstance(node, ast.BinOp):
        return arithmetic(node.op, static(node.left, names), static(node.right, names))
    raise ValueError("not constant")


def arithmetic(op: ast.operator, a: Any, b: Any) -> Any:
    """Arithmetic on constants; ValueError for what is none."""
    if not all(isinstance(x, int | float) for x in (a, b)):
        if isinstance(op, ast.Add) and isinstance(a, tuple) and isinstance(b, tuple):
            return a + b
        raise ValueError("not numbers")
    table = {ast.Add: lambda: a + b, ast.Sub: lambda: a - b, ast.Mult: lambda: a * b, ast.Div: lambda: a / b,
             ast.FloorDiv: lambda: a // b, ast.Mod: lambda: a % b}
    if isinstance(op, ast.Pow) and abs(b) <= 64 and abs(a) <= 1 << 20:
        return a ** b
    if type(op) not in table:
        raise ValueError("not arithmetic")
    return table[type(op)]()


def arguments(tree: ast.Module, function: ast.FunctionDef, inputs: str | None, shown: str) -> dict[str, Given]:
    """Every argument of a function. Raises `bad_input` where one has no shape."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    known = constants(tree)
    found: dict[str, Given] = {}
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([a.arg for a in positional][len(positional) - len(function.args.defaults):],
                        function.args.defaults, strict=True))
    defaults |= {a.arg: d for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d}
    for name, node in defaults.items():
        try:
            found[name] = Given("", value=static(node, known))
        except ValueError:
            continue
    for arg in (*positional, *function.args.kwonlyargs):
        text = arg.annotation.value if isinstance(arg.annotation, ast.Constant) else None
        if isinstance(text, str) and (match := _WHOLE.match(text)):
            found[arg.arg] = _tensor(match[2], match[3], known, shown, arg.lineno)
    for name, given in zip([n for n in names if n not in defaults], _example(tree, known), strict=False):
        found[name] = given
    found.update(_specified(inputs, names, known, shown))
    missing = [n for n in names if n not in found]
    if missing:
        raise EnlistError(
            "bad_input", f"{shown}:{function.name} says nothing of the shape of {', '.join(missing)}",
            allowed='"x=float32[16,1024]" as input, `x: "float32[16, 1024]"` in the signature, or get_inputs()',
            fix=f"give `--input \"{';'.join(f'{n}=float32[...]' for n in missing)}\"`")
    return {n: found[n] for n in names}


def _tensor(dtype: str, dims: str, known: dict[str, Any], shown: str, line: int) -> Given:
    shape = []
    for part in (p for p in dims.split(",") if p.strip()):
        try:
            size = static(ast.parse(part.strip(), mode="eval").body, known)
        except (ValueError, SyntaxError, RecursionError, ZeroDivisionError) as error:
            raise EnlistError("bad_input", f"{shown}, line {line}: the size {part.strip()[:60]} has no value",
                              allowed="a number, or a constant of the module",
                              fix="define it at the top of the file") from error
        if not isinstance(size, int) or not 0 <= size <= 1 << 53:
            raise EnlistError("bad_input", f"{shown}: a size must be a whole number, not negative", given=str(size),
                              fix="mend the shape")
        shape.append(size)
    return Given(dtype_named(dtype, line), tuple(shape))


def _specified(inputs: str | None, names: list[str], known: dict[str, Any], shown: str) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for part in (p.strip() for p in (inputs or "").split(";") if p.strip()):
        match = _WHOLE.match(part)
        constant = re.match(r"(\w+)\s*=\s*(-?[\d.eE+-]+)$", part)
        if match and match[1] in names:
            found[match[1]] = _tensor(match[2], match[3], known, shown, 0)
        elif constant and constant[1] in names:
            value = constant[2]
            found[constant[1]] = Given("", value=int(value) if value.lstrip("-").isdigit() else float(value))
        else:
            raise EnlistError("bad_input", "an input specification cannot be read", given=part,
                              allowed=f"NAME=DTYPE[SIZES] or NAME=NUMBER with a name of {', '.join(names)}",
                              fix="parts are separated by semicolons")
    return found


def _example(tree: ast.Module, known: dict[str, Any]) -> list[Given]:
    """The shapes that get_inputs() makes, as far as its text says them."""
    maker = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs"), None)
    if maker is None:
        return []
    local: dict[str, Any] = dict(known)
    made: dict[str, Given] = {}
    for one in maker.body:
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            try:
                local[one.targets[0].id] = static(one.value, local)
            except ValueError:
                example = _array(one.value, local, made)
                if example:
                    made[one.targets[0].id] = example
        if isinstance(one, ast.Return) and one.value is not None:
            parts = one.value.elts if isinstance(one.value, ast.List | ast.Tuple) else [one.value]
            found = [_array(p, local, made) for p in parts]
            return [f for f in found if f is not None] if all(found) else []
    return []


def _array(node: ast.expr, names: dict[str, Any], made: dict[str, Given]) -> Given | None:
    if isinstance(node, ast.Name) and node.id in made:
        return made[node.id]
    try:
        return Given("", value=static(node, names))
    except ValueError:
        pass
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    what = node.func.attr
    keywords = {k.arg: k.value for k in node.keywords}
    if what == "astype" and node.args:
        inner = _array(node.func.value, names, made)
        return Given(dtype_named(ast.unparse(node.args[0]).strip("'\"")), inner.shape) if inner else None
    if what not in _MADE:
        return None
    dtype = "int64" if what in ("randint", "integers", "arange") else "float64"
    if "dtype" in keywords:
        dtype = dtype_named(ast.unparse(keywords["dtype"]).strip("'\""))
    try:
        if what in ("rand", "randn"):
            shape: Any = tuple(static(a, names) for a in node.args)
        elif "size" in keywords:
            shape = static(keywords["size"], names)
        else:
            place = {"randint": 2, "integers": 2, "normal": 2, "uniform": 2}.get(what, 0)
            shape = static(node.args[place], names) if len(node.args) > place else ()
    except ValueError:
        return None
    return Given(dtype, shape if isinstance(shape, tuple) else (shape,))
