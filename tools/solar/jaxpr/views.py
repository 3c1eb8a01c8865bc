"""Primitives that move nothing: another shape, order or part of a tensor that lies where it is.

XLA may copy where a layout does not suit it; an implementation need not. A reshape that no strides can express is a
view in one piece all the same: its bytes are never counted as more than those of what it is a view of.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from enlist.tools.solar.jaxpr.recorder import Number, Scope, Value, contiguous, dtype_of, reshaped, shape_of

if TYPE_CHECKING:
    from enlist.tools.solar.jaxpr.lower import Lowering

_AS_IT_IS = frozenset(("copy", "copy_p", "stop_gradient", "sharding_constraint", "optimization_barrier", "device_put",
                       "pvary", "pbroadcast", "mesh_cast", "reshard", "layout_constraint", "random_wrap",
                       "random_unwrap", "bitcast_convert_type", "name", "core_call_name", "pcast", "copy_start"))
VIEWS = _AS_IT_IS | {"reshape", "squeeze", "expand_dims", "broadcast_in_dim", "transpose", "slice", "split",
                     "dynamic_slice"}
"""Primitives that are views of their first operand."""


def viewed(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> list[str]:
    """Record a view; the tensors that it makes."""
    name, params, where = eqn.primitive.name, eqn.params, low.where(eqn)
    if name in _AS_IT_IS:
        return [_same(low, eqn, v, value, scope, where) for v, value in zip(eqn.outvars, inputs, strict=False)]
    source = inputs[0]
    assert isinstance(source, str)
    base = low.recorder.tensors[source]
    shape = shape_of(eqn.outvars[0].aval)
    if name in ("slice", "dynamic_slice", "split"):
        return _parts(low, eqn, inputs, scope, where)
    if name == "transpose":
        strides = [base.strides[d] for d in params["permutation"]]
    elif name == "broadcast_in_dim":
        strides = [0] * len(shape)
        for axis, size, stride in zip(params["broadcast_dimensions"], base.shape, base.strides, strict=False):
            strides[axis] = stride if shape[axis] == size else 0
    else:
        strides = list(reshaped(base.shape, base.strides, shape) or contiguous(shape))
    return [low.recorder.view(f"lax.{name}", source, shape, strides, scope, where)]


def _same(low: Lowering, eqn: Any, var: Any, value: Value, scope: Scope, where: str) -> str:
    if isinstance(value, Number):
        return low.spread(value, var)
    base, shape, dtype = low.recorder.tensors[value], shape_of(var.aval), dtype_of(var.aval)
    strides = base.strides if base.shape == shape else contiguous(shape)
    return low.recorder.view(f"lax.{eqn.primitive.name}", value, shape, strides, scope, where, dtype)


def _parts(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope, where: str) -> list[str]:
    """Slices, one dimension at a time, so that each says which range of indices it takes."""
    name, params, source = eqn.primitive.name, eqn.params, inputs[0]
    assert isinstance(source, str)
    base = low.recorder.tensors[source]
    if name == "split":
        made = [low.recorder.tensor(shape_of(v.aval), base.dtype, strides=base.strides, alias_of=source)
                for v in eqn.outvars]
        low.recorder.node("lax.split", (source,), made, scope, where)
        return made
    if name == "dynamic_slice":
        return [_dynamic(low, eqn, inputs, scope, where)]
    steps = params["strides"] or (1,) * len(base.shape)
    at = source
    for axis, (first, last, step) in enumerate(zip(params["start_indices"], params["limit_indices"], steps,
                                                   strict=True)):
        size = max(0, -(-(last - first) // step))
        if size != base.shape[axis] or step != 1:
            at = _cut(low, at, axis, int(first), size, int(step), scope, where)
    return [at if at != source else low.recorder.view("lax.slice", source, base.shape, base.strides, scope, where)]


def _cut(low: Lowering, source: str, axis: int, first: int, size: int, step: int, scope: Scope, where: str) -> str:
    base = low.recorder.tensors[source]
    shape = [size if d == axis else n for d, n in enumerate(base.shape)]
    strides = [s * step if d == axis else s for d, s in enumerate(base.strides)]
    return low.recorder.view("lax.slice", source, shape, strides, scope, where, dim=axis, start=first, step=step)


def _dynamic(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope, where: str) -> str:
    """A slice whose place is known, moves with the turns of a loop, or depends on data; it has its size anyhow."""
    source = inputs[0]
    assert isinstance(source, str)
    base, sizes = low.recorder.tensors[source], [int(n) for n in eqn.params["slice_sizes"]]
    starts = inputs[1:]
    moving = [axis for axis, v in enumerate(starts) if isinstance(v, str) and v in low.recorder.counters
              and sizes[axis] < base.shape[axis]]
    known = [low.values.integer(v.value if isinstance(v, Number) else v) for v in starts]
    if prod(sizes) and all(k is not None for k in known):
        at = source
        for axis, (size, first) in enumerate(zip(sizes, known, strict=True)):
            if size != base.shape[axis] and first is not None:
                first = min(max(0, first), base.shape[axis] - size)
                at = _cut(low, at, axis, first, size, 1, scope, where)
        return at if at != source else low.recorder.view("lax.dynamic_slice", source, sizes, base.strides, scope, where)
    op = "lax.dynamic_slice"
    if len(moving) == 1:
        axis = moving[0]
        counter = low.recorder.counters[str(starts[axis])]
        last = counter.first + counter.step * (scope.turns - 1)
        inside = min(counter.first, last) >= 0 and max(counter.first, last) + sizes[axis] <= base.shape[axis]
        still = all(sizes[d] == n or known[d] is not None for d, n in enumerate(base.shape) if d != axis)
        if inside and still and sizes[axis] <= abs(counter.step):
            op = "loop_slice"  # every turn sees another part
    others = [v for v in starts if isinstance(v, str)]
    return low.recorder.view(op, source, sizes, base.strides, scope, where, others=others)
