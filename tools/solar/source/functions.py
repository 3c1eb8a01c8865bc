"""Functions and methods of NumPy that the translator knows, by name."""

from collections.abc import Callable
from math import inf, log, pi
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.program import DTYPES, Expr, Num, Op
from enlist.tools.solar.source import arrays
from enlist.tools.solar.source.signature import dtype_named
from enlist.tools.solar.source.values import Array, Builder, Index, broadcast, dim, fault, minus, number, plus, scalar

CONSTANTS = {"pi": pi, "inf": inf, "e": 2.718281828459045, "newaxis": None}
_ELEMENT = {"exp": "exp", "log": "log", "sqrt": "sqrt", "tanh": "tanh", "sin": "sin", "cos": "cos", "abs": "abs",
            "absolute": "abs", "fabs": "abs", "negative": "neg", "floor": "floor", "erf": "erf", "add": "+",
            "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "floor_divide": "//", "mod": "%",
            "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min", "less": "<", "less_equal": "<=",
            "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=", "logical_and": "and",
            "logical_or": "or", "logical_not": "not"}
_REDUCE: dict[str, Any] = {"sum": "+=", "prod": "*=", "max": "max=", "amax": "max=", "min": "min=", "amin": "min="}


def as_array(value: Any, line: int) -> Array:
    """A number or an array as an array."""
    if isinstance(value, Array):
        return value
    if isinstance(value, Index):
        return scalar(value.expr, "int")
    if isinstance(value, bool | int):
        return scalar(number(value), "int")
    if isinstance(value, float):
        if value != value:
            raise fault(line, "a literal that is no number")
        return scalar(number(value), "float")
    raise fault(line, f"{type(value).__name__} as an array")


def called(to: Builder, name: str, args: list[Any], options: dict[str, Any]) -> Any:
    """`np.name(*args, **options)`, or a method with its array first."""
    line = to.line

    def array(place: int) -> Array:
        if place >= len(args):
            raise fault(line, f"np.{name} without its argument {place + 1}")
        return as_array(args[place], line)

    def option(place: int, key: str, default: Any = None) -> Any:
        return options.get(key, args[place] if place < len(args) else default)

    if name in _ELEMENT and "where" not in options:
        return arrays.elementwise(to, _ELEMENT[name], *(array(n) for n in range(len(args))))
    if name in _REDUCE:
        return arrays.reduced(to, array(0), _REDUCE[name], option(1, "axis"), bool(option(9, "keepdims", False)),
                              options.get("dtype"))
    if name in ("mean", "average"):
        return arrays.mean(to, array(0), option(1, "axis"), bool(option(9, "keepdims", False)))
    if name in ("var", "std"):
        made = arrays.variance(to, array(0), option(1, "axis"), bool(option(9, "keepdims", False)),
                               int(option(9, "ddof", 0)))
        return arrays.elementwise(to, "sqrt", made) if name == "std" else made
    if name in ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "eye",
                "identity", "arange"):
        return _made(to, name, args, options)
    if name in ("concatenate", "stack", "vstack", "hstack"):
        parts = [as_array(a, line) for a in args[0]]
        axis = int(option(1, "axis", {"hstack": 1 if len(parts[0].shape) > 1 else 0}.get(name, 0)))
        if name == "stack":
            parts = [expanded(to, p, axis) for p in parts]
        return arrays.joined(to, parts, axis)
    if name == "einsum":
        return arrays.einsum(to, str(args[0]), [as_array(a, line) for a in args[1:]])
    known = _TABLE.get(name)
    if known is None:
        raise fault(line, f"np.{name}")
    if "out" in options or "where" in options:
        raise fault(line, f"out= and where= of np.{name}")
    return known(to, array, option)


def _made(to: Builder, name: str, args: list[Any], options: dict[str, Any]) -> Array:
    dtype = options.get("dtype")
    if name == "arange":
        ends = [a for a in args if isinstance(a, int)]
        if len(ends) != len(args):
            raise fault(to.line, "np.arange of what is no whole number")
        start, stop, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
        size = max(0, -((start - stop) // step))
        return to.mapped((size,), dtype or "int64", lambda index: dim(plus(
            Op("*", (index[0], number(step))) if step != 1 else index[0], start)))
    if name in ("eye", "identity"):
        rows = int(args[0])
        return to.mapped((rows, int(args[1]) if len(args) > 1 and args[1] else rows), dtype or "float64",
                         lambda index: Op("select", (Op("==", index), Num(1), Num(0))))
    like = name.endswith("_like")
    shape = args[0].shape if like else args[0] if isinstance(args[0], tuple | list) else (args[0],)
    full = name.startswith("full")
    value = as_array(options.get("fill_value", args[1] if len(args) > 1 else 0), to.line) if full else None
    place = 2 if full else 1
    dtype = dtype or (args[place] if len(args) > place and args[place] in DTYPES else None)
    dtype = dtype or (args[0].dtype if like else {"int": "int64", "float": "float64"}.get(
        value.dtype, value.dtype) if value else "float64")
    made = to.temporary([_size(s, to.line) for s in shape], dtype)
    if name.startswith("empty"):
        return made
    wide = broadcast(value, made.shape) if value else None
    return to.fill(made, lambda index: wide.at(index) if wide else Num(1 if name.startswith("ones") else 0))


def _size(value: Any, line: int) -> Any:
    if isinstance(value, Index):
        return value.expr
    if isinstance(value, int) and value >= 0:
        return value
    raise fault(line, f"a size of {value!r}")


def expanded(to: Builder, array: Array, axis: Any) -> Array:
    """np.expand_dims for one axis."""
    rank = len(array.shape) + 1
    axis = arrays.axes_of(axis, rank, to.line)[0]
    return Array((*array.shape[:axis], 1, *array.shape[axis:]), array.dtype,
                 lambda index: array.at((*index[:axis], *index[axis + 1:])), array.owner)


def _squeezed(to: Builder, array: Array, axis: Any) -> Array:
    gone = [n for n, s in enumerate(array.shape) if s == 1] if axis is None else list(
        arrays.axes_of(axis, len(array.shape), to.line))

    def at(index: tuple[Expr, ...]) -> Expr:
        rest = iter(index)
        return array.at(tuple(Num(0) if n in gone else next(rest) for n in range(len(array.shape))))
    return Array(tuple(s for n, s in enumerate(array.shape) if n not in gone), array.dtype, at, array.owner)


def _transposed(to: Builder, array: Array, order: Any) -> Array:
    rank = len(array.shape)
    return arrays.permuted(array, list(reversed(range(rank))) if order is None else [o % rank for o in order])


def _swapped(array: Array, a: int, b: int) -> Array:
    order = list(range(len(array.shape)))
    order[a], order[b] = order[b], order[a]
    return arrays.permuted(array, [o % len(order) for o in order])


def _moved(array: Array, source: int, place: int) -> Array:
    order = [n for n in range(len(array.shape)) if n != source % len(array.shape)]
    order.insert(place % len(array.shape), source % len(array.shape))
    return arrays.permuted(array, order)


def cast(to: Builder, array: Array, dtype: str) -> Array:
    return array if array.dtype == dtype else arrays.combined(to, lambda x: Op(dtype, (x,)), array)


def _taken(to: Builder, array: Array, ids: Array, axis: Any) -> Array:
    """np.take along an axis: rows that ids name."""
    if axis is None:
        array, axis = arrays.reshaped(to, array, (-1,)), 0
    axis = arrays.axes_of(axis, len(array.shape), to.line)[0]
    rank = len(ids.shape)
    shape = (*array.shape[:axis], *ids.shape, *array.shape[axis + 1:])
    return to.mapped(shape, array.dtype, lambda index: array.at(
        (*index[:axis], ids.at(index[axis:axis + rank]), *index[axis + rank:])))


def _clipped(to: Builder, array: Array, low: Any, high: Any) -> Array:
    if low is not None:
        array = arrays.elementwise(to, "max", array, as_array(low, to.line))
    return arrays.elementwise(to, "min", array, as_array(high, to.line)) if high is not None else array


def _flipped(to: Builder, array: Array, axis: Any) -> Array:
    gone = arrays.axes_of(axis, len(array.shape), to.line)
    return Array(array.shape, array.dtype, lambda index: array.at(tuple(
        dim(minus(plus(array.shape[n], -1), i)) if n in gone else i for n, i in enumerate(index))), array.owner)


def _rolled(to: Builder, array: Array, shift: Any, axis: Any) -> Array:
    if not isinstance(shift, int) or not isinstance(axis, int) or not isinstance(array.shape[axis], int):
        raise fault(to.line, "np.roll without one axis and a constant shift")
    axis, size = axis % len(array.shape), int(array.shape[axis])  # type: ignore[call-overload]

    def value(index: tuple[Expr, ...]) -> Expr:
        moved = Op("%", (dim(plus(index[axis], -shift % max(1, size))), Num(max(1, size))))
        return array.at((*index[:axis], moved, *index[axis + 1:]))
    return to.mapped(array.shape, array.dtype, value)


def _padded(to: Builder, array: Array, widths: Any, mode: Any, value: Any) -> Array:
    if mode != "constant" or not isinstance(value, int | float):
        raise fault(to.line, f"np.pad with mode {mode}")
    rank = len(array.shape)
    pairs = [(widths, widths)] * rank if isinstance(widths, int) else [
        w if isinstance(w, tuple) else tuple(widths) for w in (widths if isinstance(widths[0], tuple) else [
            tuple(widths)] * rank)]
    shape = [plus(plus(s, a), b) for s, (a, b) in zip(array.shape, pairs, strict=True)]

    def inside(index: tuple[Expr, ...]) -> Expr:
        tests: list[Expr] = []
        for i, size, (a, b) in zip(index, array.shape, pairs, strict=True):
            tests += [Op(">=", (i, Num(a)))] * (a > 0) + [Op("<", (i, dim(plus(size, a))))] * (b > 0)
        here = array.at(tuple(dim(plus(i, -a)) for i, (a, _) in zip(index, pairs, strict=True)))
        if not tests:
            return here
        test = tests[0]
        for other in tests[1:]:
            test = Op("and", (test, other))
        return Op("select", (test, here, number(value)))
    return to.mapped(shape, array.dtype, inside)


def _norm(to: Builder, array: Array, axis: Any, keepdims: bool) -> Array:
    return arrays.elementwise(to, "sqrt", arrays.reduced(to, arrays.power(to, array, 2), "+=", axis, keepdims))


def _copied(to: Builder, array: Array) -> Array:
    return to.mapped(array.shape, array.dtype, array.at) if array.shape else array


def _need(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype_named(dtype)
    raise EnlistError("bad_input", "a cast needs a dtype", given=repr(dtype), fix="name the dtype")


_Known = Callable[[Builder, Callable[[int], Array], Callable[..., Any]], Any]
_TABLE: dict[str, _Known] = {
    "dot": lambda to, a, o: arrays.dot(to, a(0), a(1)), "matmul": lambda to, a, o: arrays.matmul(to, a(0), a(1)),
    "inner": lambda to, a, o: arrays.dot(to, a(0), _transposed(to, a(1), None)),
    "vdot": lambda to, a, o: arrays.dot(to, arrays.reshaped(to, a(0), (-1,)), arrays.reshaped(to, a(1), (-1,))),
    "outer": lambda to, a, o: arrays.einsum(to, "i,j->ij", [
        arrays.reshaped(to, a(0), (-1,)), arrays.reshaped(to, a(1), (-1,))]),
    "square": lambda to, a, o: arrays.power(to, a(0), 2), "power": lambda to, a, o: arrays.power(to, a(0), o(1, "x2")),
    "reciprocal": lambda to, a, o: arrays.power(to, a(0), -1),
    "log2": lambda to, a, o: arrays.combined(to, lambda x: Op("*", (Op("log", (x,)), Num(1 / log(2)))), a(0)),
    "log1p": lambda to, a, o: arrays.combined(to, lambda x: Op("log", (Op("+", (Num(1), x)),)), a(0)),
    "expm1": lambda to, a, o: arrays.combined(to, lambda x: Op("-", (Op("exp", (x,)), Num(1))), a(0)),
    "where": lambda to, a, o: arrays.chosen(to, a(0), a(1), a(2)),
    "clip": lambda to, a, o: _clipped(to, a(0), o(1, "a_min"), o(2, "a_max")),
    "cumsum": lambda to, a, o: arrays.cumulative(to, a(0), o(1, "axis")),
    "tril": lambda to, a, o: arrays.triangle(to, a(0), True, int(o(1, "k", 0))),
    "triu": lambda to, a, o: arrays.triangle(to, a(0), False, int(o(1, "k", 0))),
    "transpose": lambda to, a, o: _transposed(to, a(0), o(1, "axes")),
    "swapaxes": lambda to, a, o: _swapped(a(0), o(1, "axis1"), o(2, "axis2")),
    "moveaxis": lambda to, a, o: _moved(a(0), o(1, "source"), o(2, "destination")),
    "reshape": lambda to, a, o: arrays.reshaped(to, a(0), s if isinstance(s := o(1, "shape"), tuple | list) else [s]),
    "ravel": lambda to, a, o: arrays.reshaped(to, a(0), (-1,)),
    "flatten": lambda to, a, o: arrays.reshaped(to, a(0), (-1,)),
    "expand_dims": lambda to, a, o: expanded(to, a(0), o(1, "axis")),
    "squeeze": lambda to, a, o: _squeezed(to, a(0), o(1, "axis")),
    "broadcast_to": lambda to, a, o: broadcast(a(0), tuple(o(1, "shape"))),
    "take": lambda to, a, o: _taken(to, a(0), a(1), o(2, "axis")),
    "flip": lambda to, a, o: _flipped(to, a(0), o(1, "axis")),
    "roll": lambda to, a, o: _rolled(to, a(0), o(1, "shift"), o(2, "axis")),
    "pad": lambda to, a, o: _padded(to, a(0), o(1, "pad_width"), o(2, "mode", "constant"), o(9, "constant_values", 0)),
    "linalg.norm": lambda to, a, o: _norm(to, a(0), o(2, "axis"), bool(o(9, "keepdims", False))),
    "astype": lambda to, a, o: cast(to, a(0), _need(o(1, "dtype"))),
    "copy": lambda to, a, o: _copied(to, a(0)), "array": lambda to, a, o: _copied(to, a(0)),
    "asarray": lambda to, a, o: a(0), "ascontiguousarray": lambda to, a, o: a(0),
}
