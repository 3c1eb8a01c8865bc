"""NumPy into the Affine Loop IR, from the syntax tree alone: nothing of the file runs.

Straight-line code over arrays, `for` over `range` with affine bounds, helper functions of the same file (inlined),
`if` on constants and on loop variables. Each array operation becomes a loop nest, as NumPy runs it; views cost nothing.
What is outside is refused with its line.
"""

import ast
from dataclasses import replace
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.solar.loops.program import Access, Declared, For, If, Name, Num, Op, Program, parts
from enlist.tools.solar.loops.types import promoted
from enlist.tools.solar.loops.validate import validate
from enlist.tools.solar.source.arrays import chosen
from enlist.tools.solar.source.expressions import Expressions
from enlist.tools.solar.source.functions import as_array
from enlist.tools.solar.source.indexing import subscripted
from enlist.tools.solar.source.names import assigned_again, changed, subscripted_names
from enlist.tools.solar.source.signature import arguments
from enlist.tools.solar.source.values import Array, Index, broadcast, dim, fault, number, tensor

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_DEEPEST = 20
_MOST_UNROLLED = 256


def translate_numpy(text: str, target: str | None = None, inputs: str | None = None, name: str = "source") -> Program:
    """The program of a NumPy function.

    Args:
        target: the function; the last one that is not get_inputs where it is None.
        inputs: "x=float32[16,1024];n=4"; else shapes come from get_inputs() or from annotations.

    Raises `bad_input` for text that is no Python and arguments without shapes, `not_found` for no such function,
    `unsupported` with the line for what the subset does not have.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EnlistError("bad_input", f"{name} is no Python: {error}", fix="mend the syntax") from error
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    able = [n for n in functions if not n.startswith(("get_", "_"))]
    if target is None and not able:
        raise EnlistError("not_found", f"{name} has no function to translate", fix="define one over NumPy arrays")
    chosen_name = target or able[-1]
    if chosen_name not in functions:
        close = nearest(chosen_name, able)
        raise EnlistError("not_found", f"{name} has no function {chosen_name}", allowed=", ".join(able) or "none",
                          fix=f"did you mean {close[0]}?" if close else "name one of these")
    given = arguments(tree, functions[chosen_name], inputs, name)
    try:
        program = _Translator(tree, functions, name).program(functions[chosen_name], given)
        _check(program)
        return program
    except RecursionError as error:
        raise EnlistError("unsupported", f"{name} nests too deeply to translate",
                          fix="split its expressions") from error


def _check(program: Program) -> None:
    """Refuse what became loops that do not hold, such as a name of which only the last turn's value is used."""
    try:
        validate(program)
    except EnlistError as error:
        if error.code != "bad_input" or "goes " in error.message:
            raise
        raise EnlistError("unsupported", f"the deterministic translator cannot express this as loops: {error.message}",
                          given=error.given, allowed=error.allowed, fix="write to an element of an array in each turn, "
                          "or write the loops by hand as FILE.loop") from error


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Translator(Expressions):
    env: dict[str, Any]
    kept: set[str]
    deep: set[str]
    depth: int
    after: list[tuple[list[ast.stmt], int, bool]]
    """Of every block that is open: its statements, which one is at hand, and whether it is a loop's."""

    def program(self, function: ast.FunctionDef, given: dict[str, Any]) -> Program:
        written = subscripted_names(function)
        self.kept, self.deep, self.after = *assigned_again(function), []
        for name, one in given.items():
            if not one.dtype:
                self.env[name] = one.value
                continue
            self.to.tensors.append(Declared("input", name, one.dtype, tuple(Num(n) for n in one.shape)))
            whole = tensor(name, one.shape, one.dtype)
            if name in written or name in self.kept:
                self.to.line = function.lineno
                whole = self.to.fill(self.to.temporary(one.shape, one.dtype, f"{name}_"), whole.at)
            self.env[name] = whole
        result = self._run(function.body)
        if result is None:
            result = tuple(self.env[n] for n in given if n in written)
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        if not outputs:
            raise EnlistError("bad_input", f"{self.file}:{function.name} returns nothing and changes no argument",
                              fix="return the result")
        for n, value in enumerate(outputs):
            self._output(f"out{n}" if len(outputs) > 1 else "out", as_array(value, self.to.line))
        return Program(function.name, (), tuple(self.to.tensors), tuple(self.to.blocks[0]))

    def _output(self, name: str, value: Array) -> None:
        taken = {t.name for t in self.to.tensors}
        name = name if name not in taken else self.to.fresh(name)
        index = tuple(Name(f"?{n}") for n in range(len(value.shape)))
        found = value.at(index)
        for place, one in enumerate(self.to.tensors):
            if found == Access(one.name, index) and one.role == "temp" and one.shape == tuple(map(dim, value.shape)):
                del self.to.tensors[place]
                self.to.tensors.append(replace(one, role="output"))  # outputs stand in the order of the result
                return
        dtype = {"int": "int64", "float": "float64"}.get(value.dtype, value.dtype)
        self.to.tensors.append(Declared("output", name, dtype, tuple(map(dim, value.shape))))
        self.to.fill(tensor(name, value.shape, dtype), value.at)

    def _run(self, body: list[ast.stmt]) -> Any:
        try:
            self._body(body)
        except _Returned as returned:
            return returned.value
        return None

    def _body(self, body: list[ast.stmt], loop: bool = False) -> None:
        for place, one in enumerate(body):
            self.to.line = one.lineno
            self.after.append((body, place, loop))
            try:
                self._statement(one)
            finally:
                self.after.pop()

    def _statement(self, one: ast.stmt) -> None:
        if isinstance(one, ast.Return):
            if len(self.to.blocks) > 1:
                raise fault(one.lineno, "a return inside of a loop or of a condition on loop variables")
            raise _Returned(self.value(one.value) if one.value else None)
        if isinstance(one, ast.Assign):
            value = self.value(one.value)
            for target in one.targets:
                self._store(target, value)
        elif isinstance(one, ast.AnnAssign) and one.value is not None:
            self._store(one.target, self.value(one.value))
        elif isinstance(one, ast.AugAssign):
            self._change(one)
        elif isinstance(one, ast.For):
            self._for(one)
        elif isinstance(one, ast.If):
            self._if(one)
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            return
        elif not isinstance(one, ast.Pass | ast.Import | ast.ImportFrom | ast.Assert):
            raise fault(one.lineno, f"`{ast.unparse(one).splitlines()[0][:80]}`")

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            items = list(value) if isinstance(value, tuple | list) else [
                subscripted(self.to, value, n) for n in range(int(value.shape[0]))]  # type: ignore[call-overload]
            if len(items) != len(target.elts):
                raise EnlistError("bad_input", f"line {self.to.line}: {len(items)} values for {len(target.elts)} names",
                                  fix="mend the assignment")
            if self.kept & {e.id for e in target.elts if isinstance(e, ast.Name)}:  # all is read before any is assigned
                items = [self.to.fill(self.to.temporary(i.shape, self._stored(i.dtype)), i.at) if isinstance(i, Array)
                         else i for i in items]
            for part, item in zip(target.elts, items, strict=True):
                self._store(part, item)
        elif isinstance(target, ast.Name):
            self._name(target.id, value)
        elif isinstance(target, ast.Subscript):
            base, key = self._array(target.value), self.value(target.slice)
            if isinstance(key, Array) and key.dtype == "bool":
                one = as_array(value, self.to.line)
                if one.shape or key.shape != base.shape:
                    raise fault(self.to.line, "an assignment through a mask of other than one value")
                self._fill(base, chosen(self.to, key, one, base))
                return
            self._fill(subscripted(self.to, base, key), as_array(value, self.to.line))
        else:
            raise fault(self.to.line, f"an assignment to {ast.unparse(target)}")

    @staticmethod
    def _stored(dtype: str) -> str:
        """The dtype in which a value is stored: a Python number has the widest of its kind."""
        return {"int": "int64", "float": "float64"}.get(dtype, dtype)

    def _name(self, name: str, value: Any) -> None:
        if name in self.kept and isinstance(value, Array | int | float | Index) and not isinstance(value, bool):
            array = as_array(value, self.to.line)
            self._unshared(name, array)
            old = self.env.get(name)
            if isinstance(old, Array) and old.owner and old.owner.startswith(f"{name}_"):
                if len(old.shape) != len(array.shape) or (old.shape != array.shape and len(self.to.blocks) > 1):
                    raise fault(self.to.line, f"{name} changing its shape")
                if old.shape == array.shape:
                    self._widen(old, array.dtype)
                    self._fill(self.env[name], array)
                    return
            if len(self.to.blocks) == 1 or not array.shape or name in self.deep:
                dtype = self._stored(array.dtype)
                made = self.to.temporary(array.shape, dtype, f"{name}_")
                self.env[name] = made if array.dtype == dtype else replace(made, dtype=array.dtype)
                self.to.fill(made, array.at)
                return
        elif isinstance(value, Array) and not value.shape and not isinstance(value.at(()), Num):
            value = self.to.fill(self.to.temporary((), self._stored(value.dtype)), value.at)  # NumPy copies a scalar
        self.env[name] = value

    def _unshared(self, name: str, value: Array) -> None:
        """A name that loops assign again is a tensor, so that it gets a copy where NumPy gives an array another name;
        refused where one of both is changed in place before either gets another array."""
        names = {n for n, a in self.env.items() if isinstance(a, Array) and a.shape and a.owner == value.owner} | {name}
        if value.owner is None or not value.shape or names == {name}:
            return
        for body, place, loop in reversed(self.after):
            later = [*body[place + 1:], *(body[:place] if loop else ())]
            for one in later:
                both = names & ({t.id for t in one.targets if isinstance(t, ast.Name)} if isinstance(
                    one, ast.Assign) else set())
                if both:
                    return
                if names & changed(one):
                    raise fault(self.to.line, f"{name} and {', '.join(sorted(names - {name}))} as names of one array "
                                f"that line {one.lineno} changes in place", "a copy: name.copy()")

    def _widen(self, old: Array, dtype: str) -> None:
        """A Python number that meets an array takes its dtype."""
        met = promoted([old.dtype, dtype])
        if old.dtype == met or met in ("int", "float"):
            return
        self.to.tensors = [replace(t, dtype=met) if t.name == old.owner else t for t in self.to.tensors]
        self.env = {n: tensor(str(old.owner), old.shape, met) if isinstance(v, Array) and v.owner == old.owner
                    and v.shape == old.shape else v for n, v in self.env.items()}

    def _fill(self, place: Array, value: Array, update: str = "=") -> None:
        index = tuple(Name(f"?{n}") for n in range(len(place.shape)))
        target = place.at(index)
        if not isinstance(target, Access) or place.owner is None:
            raise fault(self.to.line, "an assignment to what is no view")
        if any(t.name == target.tensor and t.role == "input" for t in self.to.tensors):
            raise fault(self.to.line, f"a change of the argument {target.tensor} under another name",
                        f"{target.tensor}.copy()")
        wide = broadcast(value, place.shape)
        other = any(isinstance(e, Access) and e.tensor == target.tensor and e != target for e in parts(wide.at(index)))
        if other and place.shape:  # NumPy reads all before it writes
            wide = self.to.fill(self.to.temporary(place.shape, self.to.dtype(target)), wide.at)
        self.to.fill(place, wide.at, update)  # type: ignore[arg-type]

    def _change(self, one: ast.AugAssign) -> None:
        value = self.value(one.value)
        if isinstance(one.target, ast.Name):
            old = self.env.get(one.target.id)
            if not (isinstance(old, Array) and old.owner and one.target.id in self.kept):
                self._name(one.target.id, self._binary(one.op, self.value(one.target), value))
                return
            self._widen(old, as_array(value, self.to.line).dtype)
            place = self.env[one.target.id]
        else:
            place = self._array(one.target)
        array = as_array(value, self.to.line)
        if isinstance(one.op, ast.Add | ast.Mult):
            self._fill(place, array, "+=" if isinstance(one.op, ast.Add) else "*=")
        elif isinstance(one.op, ast.Sub):
            self._fill(place, Array(array.shape, array.dtype, lambda index: Op("neg", (array.at(index),))), "+=")
        else:
            self._fill(place, as_array(self._binary(one.op, place, value), self.to.line))

    def _for(self, one: ast.For) -> None:
        if one.orelse:
            raise fault(one.lineno, "else of a loop")
        call = one.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            self._over(one)
            return
        if not isinstance(one.target, ast.Name):
            raise fault(one.lineno, "this kind of loop", "for NAME in range(...), or over a tuple of constants")
        ends = [self.value(a) for a in call.args]
        low, high, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
        if not isinstance(step, int) or step == 0 or not all(isinstance(e, int | Index) for e in (low, high)):
            raise fault(one.lineno, "a range that depends on data")
        first, last = (e.expr if isinstance(e, Index) else number(e) for e in (low, high))
        var = self.to.fresh(one.target.id)
        bounds = [self.to.highest(e) for e in (first, last)], [self.to._interval(e)[0] for e in (first, last)]
        least, most = (bounds[1][0], bounds[0][1] - 1) if step > 0 else (bounds[1][1] + 1, bounds[0][0])
        self.to.ranges[var] = least, max(least, most)
        self.env[one.target.id] = Index(Name(var))
        body = self._inside(one.body, loop=True)
        self.to.emit(For(var, first, last, step, tuple(body)))
        self.env.pop(one.target.id, None)

    def _over(self, one: ast.For) -> None:
        """A loop over constants, taken turn by turn, or over the rows of arrays, by zip and enumerate too."""
        call, names, counter = one.iter, one.target, None
        many = [call]
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("zip", "enumerate"):
            if not isinstance(names, ast.Tuple) or not call.args or call.keywords:
                raise fault(one.lineno, "this kind of loop", "for NAME in range(...), over arrays, or a tuple")
            many = list(call.args)
            if call.func.id == "enumerate":
                counter, names, many = names.elts[0], names.elts[-1], many[:1]
        rows = [self.value(m) for m in many]
        targets = names.elts if isinstance(names, ast.Tuple) and len(many) > 1 else [names]
        if not all(isinstance(r, Array) and r.shape for r in rows):
            if len(rows) != 1 or not isinstance(rows[0], tuple | list) or len(rows[0]) > _MOST_UNROLLED or counter:
                raise fault(one.lineno, "a loop over this", "for NAME in range(...)")
            for item in rows[0]:
                self._store(names, item)
                self._body(one.body, loop=True)
            return
        lengths = [r.shape[0] for r in rows]
        if any(not isinstance(n, int) for n in lengths) or len(targets) != len(rows):
            raise fault(one.lineno, "a loop over this")
        var = self.to.fresh("i")
        self.to.ranges[var] = 0, max(0, min(lengths) - 1)
        self.to.blocks.append([])
        if isinstance(counter, ast.Name):
            self.env[counter.id] = Index(Name(var))
        for target, row in zip(targets, rows, strict=True):
            self._store(target, subscripted(self.to, row, Index(Name(var))))
        self._body(one.body, loop=True)
        self.to.emit(For(var, Num(0), Num(min(lengths)), 1, tuple(self.to.blocks.pop())))

    def _inside(self, body: list[ast.stmt], loop: bool = False) -> list[Any]:
        self.to.blocks.append([])
        self._body(body, loop)
        return self.to.blocks.pop()

    def _if(self, one: ast.If) -> None:
        test = self.value(one.test)
        if isinstance(test, Array):
            expr = test.at(()) if not test.shape else None
            if expr is None or any(isinstance(e, Access) for e in parts(expr)):
                raise fault(one.lineno, "a condition on data", "conditions on loop variables and constants; np.where")
            self.to.emit(If(expr, tuple(self._inside(one.body))))
            if one.orelse:
                if not isinstance(expr, Op) or expr.name not in _OPPOSITE:
                    raise fault(one.lineno, "else of this condition")
                self.to.emit(If(Op(_OPPOSITE[expr.name], expr.args), tuple(self._inside(one.orelse))))
            return
        self._body(one.body if test else one.orelse)

    def _inlined(self, function: ast.FunctionDef, args: list[Any], options: dict[str, Any]) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise fault(self.to.line, f"recursion of {function.name}")
        outside, kept, deep, after = self.env, self.kept, self.deep, self.after
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        known = {a: self.value(d) for a, d in zip(names[len(names) - len(function.args.defaults):],
                                                  function.args.defaults, strict=True)}
        known |= {a.arg: self.value(d) for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
                  if d is not None}
        known |= dict(zip(names, args, strict=False)) | options
        missing = [n for n in names if n not in known]
        if missing or len(args) > len(names):
            raise EnlistError("bad_input", f"line {self.to.line}: {function.name} needs {', '.join(missing) or names}",
                              fix="mend the call")
        self.env, self.after = dict(known), []
        self.kept, self.deep = assigned_again(function)
        blocks, self.to.blocks = self.to.blocks, [[]]
        try:
            for name in self.kept & set(known):
                self._name(name, known[name])
            result = self._run(function.body)
        finally:
            made, self.to.blocks = self.to.blocks[0], blocks
            self.to.blocks[-1].extend(made)
            self.env, self.kept, self.deep, self.after = outside, kept, deep, after
            self.depth -= 1
        return result
