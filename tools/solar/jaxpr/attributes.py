"""What rules need to know of a primitive beyond its operands, as plain numbers and lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from enlist.tools.solar.graph import ITEM_BITS, Attribute
from enlist.tools.solar.jaxpr.elements import NEEDED
from enlist.tools.solar.jaxpr.primitives import EACH
from enlist.tools.solar.jaxpr.recorder import Scope, Value, shape_of
from enlist.tools.solar.jaxpr.rules import COLLECTIVES, IN_PLACE

if TYPE_CHECKING:
    from enlist.tools.solar.jaxpr.lower import Lowering

Reader = Callable[["Lowering", Any, list[Value]], dict[str, Any]]


def attributes(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> dict[str, Attribute]:
    """The attributes of the operator that an equation becomes."""
    reader = _READERS.get(eqn.primitive.name)
    if reader is None and f"lax.{eqn.primitive.name}" in COLLECTIVES:
        return {"peers": _peers(eqn, scope)}
    return reader(low, eqn, inputs) if reader else {}


def _product(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    (left, right), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    found = low.onehot.of(inputs, (_ints(left), _ints(right)), (_ints(left_batch), _ints(right_batch)))
    return {"contract": [_ints(left), _ints(right)], "batch": [_ints(left_batch), _ints(right_batch)],
            "multiply": _multiplied_in(low, inputs) or multiplied_as(eqn), **found}


_ALGORITHMS = {"BF16": "bfloat16", "F16": "float16", "TF32": "tf32", "F8": "float8_e4m3fn", "F32": None, "F64": None}


def multiplied_as(eqn: Any) -> str | None:
    """The dtype in which operands are multiplied, where the equation's precision allows another than their own.

    An algorithm names it first ("BF16_BF16_F32"; several passes of it count as one, which is the least). Without one
    JAX multiplies float32 in TF32 where the hardware has it, unless the highest precision is asked for.
    """
    precision = eqn.params.get("precision")
    asked = {str(p).rpartition(".")[2] for p in (precision if isinstance(precision, tuple) else (precision,))}
    for name in asked:
        first = name.removeprefix("ANY_").partition("_")[0]
        if "_" in name and first in _ALGORITHMS:
            return _ALGORITHMS[first]
    plain = all(str(v.aval.dtype) == "float32" for v in eqn.invars)
    return "tf32" if plain and "HIGHEST" not in asked else None


def _multiplied_in(low: Lowering, inputs: list[Value]) -> str | None:
    """A narrower dtype in which the same products can be made, where both operands were only widened."""
    origins = [low.recorder.origin.get(v) if isinstance(v, str) else None for v in inputs[:2]]
    if not origins[0] or not origins[1]:
        return None
    kinds = {"int" in o for o in origins if o}
    return max((o for o in origins if o), key=lambda o: ITEM_BITS[o]) if len(kinds) == 1 else None


def _convolution(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    numbers, params = eqn.params["dimension_numbers"], eqn.params
    padding = [_ints(p) for p in params["padding"]]
    return {"lhs_spec": _ints(numbers.lhs_spec), "rhs_spec": _ints(numbers.rhs_spec),
            "out_spec": _ints(numbers.out_spec), "strides": _ints(params["window_strides"]), "padding": padding,
            "lhs_dilation": _ints(params["lhs_dilation"]), "rhs_dilation": _ints(params["rhs_dilation"]),
            "groups": int(params["feature_group_count"]), "batch_groups": int(params["batch_group_count"]),
            "border": _border(low, inputs[0], numbers.lhs_spec[2:])}


def _border(low: Lowering, source: Value, spatial: Any) -> list[list[int]]:
    """Zeros that a pad operator put around the input, by spatial dimension."""
    pads = low.recorder.padded.get(str(source), [])
    if not pads or any(min(p) < 0 or p[2] for p in pads):
        return []
    return [[int(pads[d][0]), int(pads[d][1])] for d in spatial]


def _pad(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    """Zeros around a tensor are remembered: a convolution need not multiply by them."""
    return {"padding": [_ints(p) for p in eqn.params["padding_config"]]}


def _window(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    params = eqn.params
    dims = len(params["window_dimensions"])
    return {"window": _ints(params["window_dimensions"]), "strides": _ints(params["window_strides"]),
            "padding": [_ints(p) for p in params["padding"]],
            "base_dilation": _ints(params.get("base_dilation") or (1,) * dims),
            "window_dilation": _ints(params.get("window_dilation") or (1,) * dims)}


def _gather(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    """The size of a gathered part, and how many different ones there are if the indices are known."""
    import numpy as np

    indices = inputs[1]
    known = low.values.array(indices) if isinstance(indices, str) else None
    parts = 0 if known is None else len(np.unique(np.reshape(known, (-1, known.shape[-1])), axis=0))
    return {"part": prod(_ints(eqn.params["slice_sizes"])), "different": parts}


def _solve(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    return {"left_side": bool(eqn.params["left_side"])}


def _fft(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    kind = eqn.params["fft_type"]
    return {"kind": str(getattr(kind, "name", kind)), "lengths": _ints(eqn.params["fft_lengths"])}


def _scatter(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    """Whether the place that is written is known to lie inside."""
    known = low.values.array(inputs[1]) if isinstance(inputs[1], str) else None
    return {"known": known is not None}


def _ragged(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    """How long the sums are, and whether it is the sums that are ragged (then every group has a result)."""
    numbers = eqn.params["ragged_dot_dimension_numbers"]
    (left, _), _ = numbers.dot_dimension_numbers
    shape = eqn.invars[0].aval.shape
    groups = _ints(numbers.rhs_group_dimensions)
    return {"inner": prod(shape[d] for d in left), "group_dims": groups, "multiply": "tf32" if all(
        str(v.aval.dtype) == "float32" for v in eqn.invars[:2]) else None}


def _axis(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    return {"axis": int(eqn.params["axis"])}


def _exponent(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    return {"y": int(eqn.params["y"])}


def _reducer(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    """What the user's function costs for two elements."""
    inner = eqn.params["jaxpr"]
    each = [EACH.get(e.primitive.name, (0, 0)) for e in getattr(inner, "jaxpr", inner).eqns
            if any("float" in str(v.aval.dtype) for v in e.invars)]
    return {"flop": sum(flop for flop, _ in each), "special": sum(special for _, special in each)}


def _peers(eqn: Any, scope: Scope) -> int:
    """How many devices take part in a collective."""
    params = eqn.params
    groups = params.get("axis_index_groups")
    if groups:
        return len(groups[0])
    names = params.get("axis_name", params.get("axes", ()))
    names = names if isinstance(names, tuple | list) else (names,)
    sizes = [scope.axes.get(str(n), 1) for n in names if not isinstance(n, int)]
    return prod(sizes)


def _ints(values: Any) -> list[int]:
    return [int(v) for v in values]


def _sum(low: Lowering, eqn: Any, inputs: list[Value]) -> dict[str, Any]:
    """What of a sum is more than putting data beside zeros, as where padded halves are interleaved."""
    placed = [low.recorder.padded.get(str(v)) for v in inputs]
    if not any(placed):
        return {}
    shape = shape_of(eqn.outvars[0].aval)
    meeting = 1
    for d, size in enumerate(shape):
        sides = [_data(pads[d], size) if pads else range(size) for pads in placed]
        meeting *= len(set(sides[0]).intersection(*sides[1:]))
    return {NEEDED: [meeting, prod(shape)]} if prod(shape) else {}


def _data(pad: list[int], size: int) -> range:
    """Where along a padded dimension of `size` the data are: each `between` zeros apart."""
    before, after, between = pad
    return range(max(0, before), size - max(0, after), between + 1) if before >= 0 else range(size)


_READERS: Mapping[str, Reader] = {
    "dot_general": _product, "conv_general_dilated": _convolution, "pad": _pad, "gather": _gather,
    "triangular_solve": _solve, "fft": _fft, "ragged_dot_general": _ragged,
    **dict.fromkeys(("add", "sub", "add_any"), _sum), "reduce": _reducer, "integer_pow": _exponent,
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _axis),
    **dict.fromkeys((f"reduce_window{k}" for k in ("", "_sum", "_max", "_min", "_mul", "_prod")), _window),
    **dict.fromkeys((name.removeprefix("lax.") for name in IN_PLACE), _scatter)}
