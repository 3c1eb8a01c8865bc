"""Expressions of NumPy source: each becomes a constant, a whole number of loop variables, an array, or a tuple."""

import ast
import operator
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.program import Op
from enlist.tools.solar.source import arrays
from enlist.tools.solar.source.functions import CONSTANTS, as_array, called
from enlist.tools.solar.source.indexing import subscripted
from enlist.tools.solar.source.signature import arithmetic, constants, dtype_named
from enlist.tools.solar.source.values import Array, Builder, Index, fault, number

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
           ast.BitAnd: "and", ast.BitOr: "or"}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_MODULES = ("numpy", "math", "scipy")


class Expressions:
    """What names mean at a place of the source, and the program that is built from it."""

    env: dict[str, Any]
    kept: set[str]
    depth: int

    def __init__(self, tree: ast.Module, functions: dict[str, ast.FunctionDef], name: str) -> None:
        self.functions, self.file = functions, name
        self.to = Builder()
        self.globals: dict[str, Any] = constants(tree)
        self.modules: dict[str, str] = {}
        self.imported: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.modules |= {(a.asname or a.name).partition(".")[0]: a.name for a in node.names
                                 if a.name.partition(".")[0] in _MODULES}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _MODULES:
                self.imported |= {a.asname or a.name: a.name for a in node.names}
        self.env: dict[str, Any] = {}
        self.kept: set[str] = set()  # names that a loop assigns again: they are tensors
        self.depth = 0

    def _array(self, node: ast.expr) -> Array:
        return as_array(self.value(node), self.to.line)

    def value(self, node: ast.expr) -> Any:
        """A constant, an `Index`, an `Array`, or a tuple of them."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._lookup(node)
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.value(e) for e in node.elts)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Compare | ast.BoolOp):
            return self._logic(node)
        if isinstance(node, ast.Subscript):
            base = self.value(node.value)
            key = self.value(node.slice)
            if isinstance(base, tuple | list):
                return base[key]
            return subscripted(self.to, as_array(base, self.to.line), key)
        if isinstance(node, ast.Slice):
            return slice(*(self.value(e) if e else None for e in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp):
            test = self.value(node.test)
            if isinstance(test, Array):
                return arrays.chosen(self.to, test, self._array(node.body), self._array(node.orelse))
            return self.value(node.body if test else node.orelse)
        raise fault(node.lineno, f"`{ast.unparse(node)[:80]}`")

    def _lookup(self, node: ast.Name) -> Any:
        if node.id in self.env:
            return self.env[node.id]
        if node.id in self.globals:
            return self.globals[node.id]
        raise fault(node.lineno, f"the name {node.id}")

    def _unary(self, node: ast.UnaryOp) -> Any:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        if isinstance(inner, int | float) and isinstance(node.op, ast.USub | ast.Not):
            return -inner if isinstance(node.op, ast.USub) else not inner
        if isinstance(inner, Index) and isinstance(node.op, ast.USub):
            return Index(Op("neg", (inner.expr,)))
        name = "neg" if isinstance(node.op, ast.USub) else "not"
        return arrays.elementwise(self.to, name, as_array(inner, self.to.line))

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        try:
            return arithmetic(op, left, right)
        except ValueError:
            pass
        except (ZeroDivisionError, OverflowError) as error:
            raise EnlistError("bad_input", f"line {self.to.line}: {error}", fix="mend the constant") from error
        if isinstance(op, ast.MatMult):
            return arrays.matmul(self.to, as_array(left, self.to.line), as_array(right, self.to.line))
        if isinstance(op, ast.Pow):
            return arrays.power(self.to, as_array(left, self.to.line), right)
        name = _BINARY.get(type(op))
        if name is None:
            raise fault(self.to.line, f"the operator {type(op).__name__}")
        whole = [e.expr if isinstance(e, Index) else number(e) for e in (left, right)
                 if isinstance(e, Index) or (isinstance(e, int) and not isinstance(e, bool))]
        if len(whole) == 2 and name in ("+", "-", "*", "//", "%"):
            return Index(Op(name, tuple(whole)))
        return arrays.elementwise(self.to, name, as_array(left, self.to.line), as_array(right, self.to.line))

    def _logic(self, node: ast.Compare | ast.BoolOp) -> Any:
        if isinstance(node, ast.BoolOp):
            items = [self.value(v) for v in node.values]
            if all(isinstance(i, bool | int) for i in items):
                return all(items) if isinstance(node.op, ast.And) else any(items)
            name = "and" if isinstance(node.op, ast.And) else "or"
            return arrays.elementwise(self.to, name, *(as_array(i, self.to.line) for i in items))
        sides = [self.value(node.left), *(self.value(c) for c in node.comparators)]
        found: Any = None
        for op, a, b in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.Is | ast.IsNot):
                one: Any = (a is b) == isinstance(op, ast.Is)
            elif type(op) not in _COMPARE:
                raise fault(node.lineno, "this comparison")
            elif not isinstance(a, Array | Index) and not isinstance(b, Array | Index):
                one = getattr(operator, type(op).__name__.lower().replace("lte", "le").replace("gte", "ge").replace(
                    "noteq", "ne"))(a, b)
            else:
                one = arrays.elementwise(self.to, _COMPARE[type(op)], as_array(a, self.to.line),
                                         as_array(b, self.to.line))
            found = one if found is None else (
                found and one if isinstance(found, bool) and isinstance(one, bool)
                else arrays.elementwise(self.to, "and", as_array(found, self.to.line), as_array(one, self.to.line)))
        return found

    def _path(self, node: ast.expr) -> str | None:
        """ "linalg.norm" for np.linalg.norm; None for what does not begin at a module."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        return ".".join(names) if isinstance(node, ast.Name) and node.id in self.modules and (
            node.id not in self.env) else None

    def _attribute(self, node: ast.Attribute) -> Any:
        path = self._path(node)
        if path is not None:
            if path in CONSTANTS:
                return CONSTANTS[path]
            return dtype_named(path, node.lineno)
        base = self._array(node.value)
        if node.attr == "T":
            return called(self.to, "transpose", [base], {})
        if node.attr == "shape":
            return tuple(s if isinstance(s, int) else Index(s) for s in base.shape)
        if node.attr in ("ndim", "dtype", "size"):
            return {"ndim": len(base.shape), "dtype": base.dtype}.get(node.attr) if node.attr != "size" else (
                self._size(base))
        raise fault(node.lineno, f".{node.attr}")

    def _size(self, base: Array) -> Any:
        total: Any = 1
        for size in base.shape:
            total = arrays.times(total, size)
        return total if isinstance(total, int) else Index(total)

    def _call(self, node: ast.Call) -> Any:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise fault(node.lineno, "* and ** in a call")
        options = {str(k.arg): self.value(k.value) for k in node.keywords}
        if "dtype" in options and options["dtype"] is not None:
            options["dtype"] = dtype_named(str(options["dtype"]), node.lineno)
        args = [self.value(a) for a in node.args]
        if isinstance(node.func, ast.Name):
            return self._named(node, node.func.id, args, options)
        path = self._path(node.func)
        if path is not None:
            path = path.removeprefix("special.")
            if path.rpartition(".")[2] in ("float32", "float64", "float16", "int32", "int64", "int8"):
                return called(self.to, "astype", [args[0], path], {})
            found = called(self.to, path, args, options)
            weak = isinstance(found, Array) and found.dtype in ("int", "float")
            if weak and self.modules[ast.unparse(node.func).partition(".")[0]] != "math":
                return arrays.combined(self.to, lambda x: Op("float64", (x,)), found)  # NumPy's scalars have a dtype
            return found
        if not isinstance(node.func, ast.Attribute):
            raise fault(node.lineno, f"`{ast.unparse(node)[:80]}`")
        base = self._array(node.func.value)
        if node.func.attr in ("reshape", "transpose") and args and not isinstance(args[0], tuple | list):
            args = [tuple(args)]
        return called(self.to, node.func.attr, [base, *args], options)

    def _named(self, node: ast.Call, name: str, args: list[Any], options: dict[str, Any]) -> Any:
        if name in self.functions:
            return self._inlined(self.functions[name], args, options)
        if name in self.imported:
            return called(self.to, self.imported[name], args, options)
        if name == "len" and isinstance(args[0], Array | tuple | list):
            first = args[0].shape[0] if isinstance(args[0], Array) else len(args[0])
            return first if isinstance(first, int) else Index(first)
        if name in ("int", "float", "bool") and isinstance(args[0], int | float):
            return {"int": int, "float": float, "bool": bool}[name](args[0])
        if name == "float":
            return called(self.to, "astype", [args[0], "float64"], {})
        if name in ("max", "min") and len(args) > 1:
            if all(isinstance(a, int | float) for a in args):
                return max(args) if name == "max" else min(args)
            if all(isinstance(a, int | Index) for a in args):
                return Index(Op(name, tuple(a.expr if isinstance(a, Index) else number(a) for a in args)))
            return arrays.elementwise(self.to, name, *(as_array(a, node.lineno) for a in args))
        if name in ("abs", "sum"):
            return called(self.to, name, args, options)
        if name in ("tuple", "list"):
            return args[0] if args else ()
        raise fault(node.lineno, f"{name}()")

    def _inlined(self, function: ast.FunctionDef, args: list[Any], options: dict[str, Any]) -> Any:
        """The result of a function of the same file, translated in place."""
        raise NotImplementedError
