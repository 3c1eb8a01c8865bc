"""Masks that follow from positions alone: worked out element by element, to count what they leave.

A mask made of `arange`, comparisons and logic depends on no input, so its values are known. It is evaluated in blocks
of rows with NumPy, so that a mask of 16,384 by 16,384 takes little memory.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from enlist.tools.solar.graph import Graph, Node, Tensor

MASKED = -1e4
"""What is added to scores, or stands in their place, and is no larger than this hides them: their exponential is zero
beside that of any other score."""
_SMALL, _LARGEST, _ROWS_AT_ONCE = 1 << 20, 1 << 29, 256
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "ge": np.greater_equal, "gt": np.greater,
    "le": np.less_equal, "lt": np.less, "eq": np.equal, "ne": np.not_equal, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "floor_divide": np.floor_divide, "remainder": np.remainder, "maximum": np.maximum,
    "minimum": np.minimum}
_UNARY: Mapping[str, Callable[[Any], Any]] = {"logical_not": np.logical_not, "bitwise_not": np.invert, "abs": np.abs,
                                              "neg": np.negative}
_AS_IT_IS = frozenset(("_to_copy", "clone", "contiguous", "detach", "alias", "to"))


class Positions:
    """Evaluates the tensors of a graph that depend on nothing but positions."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._maker = {t: node for node in graph.nodes for t in node.outputs[:1]}
        self._kept: dict[str, Any] = {}
        self._free: dict[str, bool] = {}
        self._counts: dict[str, int | None] = {}

    def count(self, mask: str) -> int | None:
        """Elements of a mask that let something through (true, or above `MASKED`), None where it depends on data or
        is too large."""
        if mask not in self._counts:
            self._counts[mask] = self._counted(mask)
        return self._counts[mask]

    def support(self, tensor: str, false: bool = False) -> tuple[tuple[int, int], ...] | None:
        """The box outside of which a tensor that follows from positions is zero or false (or true), None where it
        depends on data or there is nothing inside."""
        if not self._known(tensor) or self._graph.by_id[tensor].elements > _SMALL:
            return None
        try:
            whole = np.broadcast_to(self._whole(tensor), self._graph.by_id[tensor].shape)
            places = np.nonzero(~whole.astype(bool) if false else whole)
        except (KeyError, ValueError, TypeError):
            return None
        if not places or not len(places[0]):
            return None
        return tuple((int(at.min()), int(at.max()) + 1) for at in places)

    def _counted(self, mask: str) -> int | None:
        tensor = self._graph.by_id[mask]
        if len(tensor.shape) < 2 or tensor.elements > _LARGEST or not self._known(mask):
            return None
        rows, total = tensor.shape[-2], 0
        try:
            for first in range(0, rows, _ROWS_AT_ONCE):
                block = np.broadcast_to(self._block(mask, slice(first, min(rows, first + _ROWS_AT_ONCE))), (
                    *tensor.shape[:-2], min(rows, first + _ROWS_AT_ONCE) - first, tensor.shape[-1]))
                total += int(np.count_nonzero(block if block.dtype == bool else block > MASKED))
        except (KeyError, ValueError, TypeError):
            return None
        return total

    def _known(self, tensor: str) -> bool:
        """Whether a tensor follows from positions by operators that are evaluated here."""
        if tensor not in self._free:
            self._free[tensor] = False  # a circle is not one of positions
            node = self._maker.get(tensor)
            self._free[tensor] = node is not None and _is_evaluated(node) and all(map(self._known, node.inputs))
        return self._free[tensor]

    def _block(self, name: str, rows: slice) -> Any:
        """The given rows (dimension -2) of a tensor."""
        tensor = self._graph.by_id[name]
        if tensor.elements <= _SMALL:
            whole = self._whole(name)
            return whole if whole.ndim < 2 or whole.shape[-2] == 1 else whole[..., rows, :]
        node = self._maker[name]
        if node.op in ("tril", "triu", "ones", "zeros", "full"):
            height, width = tensor.shape[-2:]
            at = np.arange(height)[rows, None], np.arange(width)[None, :]
            if node.op in ("tril", "triu"):
                inner, shift = self._block(node.inputs[0], rows), _number(node, "diagonal", 0)
                inside = at[1] - at[0] <= shift if node.op == "tril" else at[1] - at[0] >= shift
                return np.where(inside, inner, np.zeros((), inner.dtype))
            return np.full((at[0].shape[0], width), _filled(node), dtype=_dtype(tensor))
        return _apply(node, tensor, [self._block(t, rows) for t in node.inputs])

    def _whole(self, name: str) -> Any:
        if name not in self._kept:
            node, tensor = self._maker[name], self._graph.by_id[name]
            self._kept[name] = _small(node, tensor, [self._whole(t) for t in node.inputs])
        return self._kept[name]


def _is_evaluated(node: Node) -> bool:
    return node.op in _BINARY or node.op in _UNARY or node.op in _AS_IT_IS or node.op in (
        "arange", "unsqueeze", "view", "expand", "slice", "tril", "triu", "ones", "zeros", "full", "masked_fill")


def _filled(node: Node) -> float:
    value = node.attributes.get("fill_value", 1 if node.op == "ones" else 0)
    return float(value if isinstance(value, bool | int | float) else str(value))


def _number(node: Node, name: str, default: int) -> int:
    """A whole number among a node's arguments."""
    value = node.attributes.get(name)
    return int(value) if isinstance(value, int | float) and value else default


def _dtype(tensor: Tensor) -> str:
    return {"bool": "bool", "int64": "int64", "int32": "int32"}.get(tensor.dtype, "float64")


def _apply(node: Node, tensor: Tensor, values: list[Any]) -> Any:
    """Elementwise operators on blocks that broadcast."""
    if node.op in _UNARY:
        return _UNARY[node.op](values[0])
    if node.op in _AS_IT_IS or node.op == "expand":
        return values[0].astype(_dtype(tensor))
    if node.op == "masked_fill":
        return np.where(values[1], float(str(node.attributes["value"])), np.asarray(values[0], "float64"))
    other: Any = values[1] if len(values) > 1 else node.attributes["other"]
    return _BINARY[node.op](values[0], other)


def _small(node: Node, tensor: Tensor, values: list[Any]) -> Any:
    if node.op == "arange":
        steps = np.arange(tensor.shape[0]) * _number(node, "step", 1) + _number(node, "start", 0)
        return steps.astype(_dtype(tensor))
    if node.op in ("ones", "zeros", "full"):
        return np.full(tensor.shape, _filled(node), dtype=_dtype(tensor))
    if node.op in ("tril", "triu"):
        return getattr(np, node.op)(values[0], _number(node, "diagonal", 0))
    if node.op in ("unsqueeze", "view"):
        return values[0].reshape(tensor.shape)
    if node.op == "slice":
        first = _number(node, "start", 0)
        dim = _number(node, "dim", 0)
        step = _number(node, "step", 1)
        place = [slice(None)] * values[0].ndim
        place[dim] = slice(first, first + tensor.shape[dim] * step, step) if first >= 0 else slice(first, None, step)
        return values[0][tuple(place)]
    return np.broadcast_to(_apply(node, tensor, values), tensor.shape)
