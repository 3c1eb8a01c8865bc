"""Boxes through views: what a part of a view is in what it sees, and how a view of a part lies in memory.

A reshape is taken apart into groups of dimensions that hold the same elements on both sides; a part of such a group is
followed where it is one run of elements, else all of the group is taken.
"""

from collections.abc import Sequence
from math import prod

from enlist.tools.solar.graph import Node
from enlist.tools.solar.rules.asks import Part, number, numbers, whole

TURNS = frozenset(("permute", "transpose", "t"))
_RESHAPES = frozenset(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze"))


def through(node: Node, shape: Sequence[int], out: Sequence[int], part: Part) -> tuple[Part, Part] | None:
    """The box of a view that can be seen alone, which is `part` or more of it, and that box in what the view sees."""
    if node.op == "slice":
        dim, step = number(node, "dim", 0) % len(shape), number(node, "step", 1)
        at = number(node, "start", 0)
        at = max(0, at + shape[dim]) if at < 0 else min(at, shape[dim])
        first, end = part[dim]
        taken = (at + first * step, at + (end - 1) * step + 1)
        return part, tuple(taken if d == dim else p for d, p in enumerate(part))
    if node.op == "select":
        dim, at = number(node, "dim", 0) % len(shape), number(node, "index", 0)
        at += shape[dim] if at < 0 else 0
        return part, (*part[:dim], (at, at + 1), *part[dim:])
    if node.op in TURNS:
        order = turned(node, len(shape))
        back: list[tuple[int, int]] = [(0, 0)] * len(shape)
        for place, dim in enumerate(order):
            back[dim] = part[place]
        return part, tuple(back)
    if node.op == "expand":
        tail = part[len(out) - len(shape):]
        return part, tuple((0, n) if n != m else p for n, m, p in zip(shape, out[len(out) - len(shape):], tail,
                                                                     strict=True))
    return _regrouped(shape, out, part) if node.op in _RESHAPES else None


def turned(node: Node, count: int) -> list[int]:
    """By dimension of the result, the dimension of the operand."""
    order = list(range(count))
    if node.op == "permute":
        return [d % count for d in numbers(node, "dims")]
    one, other = (0, 1) if node.op == "t" else (number(node, "dim0", 0) % count, number(node, "dim1", 0) % count)
    if count > 1:
        order[one], order[other] = order[other], order[one]
    return order


def groups(shape: Sequence[int], out: Sequence[int]) -> list[tuple[range, range]]:
    """Runs of dimensions of two shapes that hold the same elements."""
    made, i, j = [], 0, 0
    while i < len(shape) or j < len(out):
        first, second = i, j
        here = shape[i] if i < len(shape) else 1
        there = out[j] if j < len(out) else 1
        i, j = min(i + 1, len(shape)), min(j + 1, len(out))
        while here != there:
            if here < there:
                here, i = here * shape[i], i + 1
            else:
                there, j = there * out[j], j + 1
        made.append((range(first, i), range(second, j)))
    return made


def _regrouped(shape: Sequence[int], out: Sequence[int], part: Part) -> tuple[Part, Part] | None:
    if prod(shape) != prod(out) or 0 in shape:
        return None
    inner, outer = list(whole(shape)), list(whole(out))
    for mine, theirs in groups(shape, out):
        spans = [part[d] for d in theirs]
        run = _run([out[d] for d in theirs], spans)
        box = _box([shape[d] for d in mine], *run) if run is not None else None
        if box is not None:
            for d, span in zip(mine, box, strict=True):
                inner[d] = span
            for d, span in zip(theirs, spans, strict=True):
                outer[d] = span
    return tuple(outer), tuple(inner)


def _run(sizes: Sequence[int], spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """First and last + 1 of the elements of a box, if they are one run."""
    first = last = 0
    for n, (a, b) in zip(sizes, spans, strict=True):
        first, last = first * n + a, last * n + b - 1
    return (first, last + 1) if last + 1 - first == prod(b - a for a, b in spans) else None


def _box(sizes: Sequence[int], first: int, end: int) -> list[tuple[int, int]] | None:
    """The run as a box, if it is one."""
    made: list[tuple[int, int]] = []
    low, high, rest = first, end - 1, prod(sizes)
    for n in sizes:
        rest //= max(1, n)
        made.append((low // rest, high // rest + 1))
        low, high = low % rest, high % rest
    return made if prod(b - a for a, b in made) == end - first else None


def strides(node: Node, shape: Sequence[int], lie: Sequence[int], out: Sequence[int]) -> tuple[int, ...]:
    """Strides of a view of shape `out` on a tensor of this shape that lies with these strides."""
    if node.op == "slice":
        dim, step = number(node, "dim", 0) % len(shape), number(node, "step", 1)
        return tuple(s * step if d == dim else s for d, s in enumerate(lie))
    if node.op == "select":
        dim = number(node, "dim", 0) % len(shape)
        return (*lie[:dim], *lie[dim + 1:])
    if node.op == "loop_slice":
        return tuple(lie[1:])
    if node.op in TURNS:
        return tuple(lie[d] for d in turned(node, len(shape)))
    if node.op == "expand":
        lead = len(out) - len(shape)
        return (*(0,) * lead, *(s if n == m else 0 for n, m, s in zip(shape, out[lead:], lie, strict=True)))
    made = [0] * len(out)
    for mine, theirs in groups(shape, out):
        step = min((lie[d] for d in mine if shape[d] > 1), default=1)
        for d in reversed(theirs):
            made[d], step = step, step * out[d]
    return tuple(made)
