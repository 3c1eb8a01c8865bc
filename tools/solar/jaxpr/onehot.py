"""One-hot tensors: positions compared with indices, so that along one dimension at most one element is not zero.

A product with one picks rows of a table (an embedding) or puts rows where they belong (its gradient, routing), so that
it needs neither the multiplications nor, where it picks, the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from enlist.tools.solar.jaxpr.recorder import Value

if TYPE_CHECKING:
    from enlist.tools.solar.jaxpr.lower import Lowering


class OneHot:
    """The dimension along which tensors are one-hot, by tensor."""

    def __init__(self) -> None:
        self._axes: dict[str, int] = {}

    def follow(self, low: Lowering, eqn: Any, inputs: list[Value], made: Sequence[str]) -> None:
        """Learn of an operator's result."""
        name, first = eqn.primitive.name, inputs[0] if inputs else None
        if name == "eq":
            axis = _compared(low, inputs)
            if axis is not None:
                self._axes[made[0]] = axis
        elif name == "convert_element_type" and isinstance(first, str) and first in self._axes:
            self._axes[made[0]] = self._axes[first]

    def of(self, inputs: list[Value], contract: tuple[list[int], list[int]],
           batch: tuple[list[int], list[int]]) -> dict[str, Any]:
        """What a product need know: which operand is one-hot, and whether it picks by the sum's only dimension."""
        for side, value in enumerate(inputs[:2]):
            axis = self._axes.get(value) if isinstance(value, str) else None
            picks = contract[side] == [axis]
            if axis is not None and axis not in batch[side] and (picks or axis not in contract[side]):
                return {"one_hot": side, "picks": picks}
        return {}


def _compared(low: Lowering, inputs: list[Value]) -> int | None:
    """The dimension of plain positions that are compared with what does not change along it."""
    import numpy as np

    for positions, other in (inputs, reversed(inputs)):
        if not isinstance(positions, str) or not isinstance(other, str) or low.values.knows(other):
            continue
        line = low.values.array(positions)
        if line is None or line.dtype.kind not in "iu":
            continue
        varies = [d for d, (n, step) in enumerate(zip(line.shape, line.strides, strict=True)) if n > 1 and step]
        against = low.recorder.tensors[other]
        if len(varies) != 1 or (against.strides[varies[0]] and against.shape[varies[0]] > 1):
            continue
        line = np.moveaxis(line, varies[0], 0).reshape(line.shape[varies[0]], -1)[:, 0]
        if len(np.unique(line)) == len(line):
            return varies[0]
    return None
