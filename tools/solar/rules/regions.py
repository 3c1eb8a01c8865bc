"""Regions of a tensor that its readers need: boxes of index ranges, and how much of the tensor they cover together.

A slice or a selection asks its input for a box; several of them (query, key and value of one product; every second row
and the others) are counted as their union, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from enlist.tools.solar.graph import Node

_MOST_CELLS, _LONGEST = 1 << 14, 1 << 16


@dataclass(frozen=True)
class Box:
    """Indices by dimension, all of those that are not named; `share` of the rows inside is needed."""

    ranges: tuple[tuple[int, range], ...] = ()
    share: Fraction = Fraction(1)

    def part(self, shape: Sequence[int]) -> Fraction:
        """The part of a tensor that is needed because of this box alone."""
        return self.share * prod((Fraction(len(r), max(1, shape[d])) for d, r in self.ranges), start=Fraction(1))


def through(node: Node, shape: Sequence[int], out: Sequence[int], boxes: Sequence[Box]) -> list[Box]:
    """What boxes of the result of a slice or a selection are in its input. Indices of the last dimension stay whole: a
    row is all that has the same indices but the last."""
    dim = _number(node, "dim", 0) % len(shape)
    if dim == len(shape) - 1:
        return list(boxes)
    size, selects = shape[dim], node.op == "select"
    first = _number(node, "index" if selects else "start", 0)
    first = max(0, first + size) if first < 0 else min(first, size)
    step = 1 if selects else _number(node, "step", 1)
    taken = range(first, first + step * (1 if selects else out[dim]), step)
    made = []
    for box in boxes:
        inside = {d + (selects and d >= dim): r for d, r in box.ranges}
        inner = inside.get(dim)
        inside[dim] = taken[inner.start:inner.stop:inner.step] if inner is not None else taken
        made.append(Box(tuple(sorted(inside.items())), box.share))
    return made


def _number(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name)
    return value if isinstance(value, int) else default


def covered(shape: Sequence[int], boxes: Sequence[Box]) -> Fraction:
    """The share of a tensor that boxes need together: their union, exact where all of a box is needed, else a lower
    bound."""
    boxes = list(dict.fromkeys(boxes))
    if not boxes:
        return Fraction(0)
    alone = max(box.part(shape) for box in boxes)
    if alone >= 1 or len(boxes) == 1:
        return min(alone, Fraction(1))
    union = _union(shape, boxes)
    return max(alone, union * min(box.share for box in boxes)) if union is not None else alone


def _union(shape: Sequence[int], boxes: Sequence[Box]) -> Fraction | None:
    """Indices of a dimension that lie in the same boxes are one class; products of classes are looked at one by one."""
    cells: dict[int, int] = {(1 << len(boxes)) - 1: 1}  # by set of boxes: places that lie in all of them
    whole = 1
    for dim in sorted({d for box in boxes for d, _ in box.ranges}):
        if shape[dim] > _LONGEST:
            return None
        inside = [dict(box.ranges).get(dim) for box in boxes]
        classes: dict[int, int] = {}
        for index in range(shape[dim]):
            members = sum(1 << i for i, r in enumerate(inside) if r is None or index in r)
            classes[members] = classes.get(members, 0) + 1
        made: dict[int, int] = {}
        for one, count in cells.items():
            for other, times in classes.items():
                made[one & other] = made.get(one & other, 0) + count * times
        cells, whole = made, whole * shape[dim]
        if len(cells) > _MOST_CELLS:
            return None
    return Fraction(sum(n for members, n in cells.items() if members), max(1, whole))
