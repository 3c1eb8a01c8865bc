"""Values that follow from numbers in the program alone: trip counts, indices, masks made of positions.

Nothing is computed until it is asked for. Elementwise operators run in NumPy on what is left of their operands once
dimensions along which nothing changes are cut to one, so that a causal mask of 16,384 by 16,384 takes its own size and
no more; what has no counterpart here is run by JAX itself, if it is small.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

_SMALL, _LARGEST = 1 << 16, 1 << 29
_ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "neg": np.negative,
    "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less, "eq": np.equal, "ne": np.not_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "abs": np.abs,
    "select_n": lambda which, *cases: np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(
        which, cases)}


class Values:
    """Known values by tensor id."""

    def __init__(self) -> None:
        self._makers: dict[str, tuple[Any, dict[str, Any], tuple[Any, ...], tuple[int, ...], Any]] = {}
        self._done: dict[str, Any] = {}
        self._last: tuple[str, Any] = "", None

    def put(self, tensor: str, value: Any) -> None:
        """A tensor whose value is at hand."""
        self._done[tensor] = np.asarray(value)

    def derive(self, tensor: str, primitive: Any, params: dict[str, Any], inputs: tuple[Any, ...],
               shape: tuple[int, ...], dtype: Any) -> None:
        """Remember how a tensor is made; inputs are ids or plain numbers. Ignored where an input is not known."""
        if all(not isinstance(i, str) or self.knows(i) for i in inputs):
            self._makers[tensor] = primitive, params, inputs, shape, dtype

    def knows(self, tensor: str) -> bool:
        return tensor in self._done or tensor in self._makers

    def integer(self, tensor: Any) -> int | None:
        """A scalar as an integer."""
        value = self.array(tensor) if isinstance(tensor, str) else tensor
        if value is None or np.size(value) != 1:
            return None
        return int(np.reshape(value, ())[()])

    def array(self, tensor: str) -> Any:
        """The value as a NumPy array (perhaps a broadcast view), None where it is not known or cannot be made."""
        if tensor in self._done:
            return self._done[tensor]
        if self._last[0] == tensor:
            return self._last[1]
        if tensor not in self._makers:
            return None
        primitive, params, inputs, shape, dtype = self._makers[tensor]
        found = [self.array(i) if isinstance(i, str) else np.asarray(i) for i in inputs]
        try:
            value = None if any(f is None for f in found) else _evaluated(primitive, params, found, shape, dtype)
        except Exception:  # what cannot be evaluated is not known
            value = None
        if value is None or np.size(value) <= _SMALL:
            self._done[tensor] = value
        else:
            self._last = tensor, value  # large ones are asked for several times in a row
        return value


def _evaluated(primitive: Any, params: dict[str, Any], found: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    name = primitive.name
    if name == "iota":
        axis = params["dimension"]
        line = np.arange(shape[axis]).astype(dtype)
        return np.broadcast_to(line.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)
    if name == "broadcast_in_dim":
        kept = params["broadcast_dimensions"]
        sizes = [1] * len(shape)
        for axis, size in zip(kept, found[0].shape, strict=True):
            sizes[axis] = size
        return np.broadcast_to(np.reshape(found[0], sizes), shape)
    if name in _ELEMENTWISE and prod(np.broadcast_shapes(*(thin(f).shape for f in found))) > _LARGEST:
        return None
    if name in ("reshape", "squeeze", "expand_dims", "copy", "stop_gradient"):
        if np.size(found[0]) > _LARGEST:
            return None
        return np.reshape(found[0], shape)
    if name == "transpose":
        return np.transpose(found[0], params["permutation"])
    if name == "slice":
        steps = params["strides"] or (1,) * len(shape)
        return found[0][tuple(map(slice, params["start_indices"], params["limit_indices"], steps))]
    if name == "convert_element_type":
        return np.broadcast_to(thin(found[0]).astype(dtype), shape)
    if name in _ELEMENTWISE:
        return np.broadcast_to(_ELEMENTWISE[name](*map(thin, found)).astype(dtype), shape)
    if prod(shape) > _SMALL or any(np.size(f) > _SMALL for f in found):
        return None
    made = primitive.bind(*found, **params)
    return None if primitive.multiple_results else np.asarray(made)


def thin(array: Any) -> Any:
    """Without repetition along dimensions of stride 0."""
    return array[tuple(slice(0, 1) if s == 0 and n > 1 else slice(None) for s, n in zip(
        array.strides, array.shape, strict=True))]
