"""What slices ask for together, against sets of the rows that NumPy takes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.rules.regions import Box, covered, through


def taken(node: Node, values: np.ndarray) -> np.ndarray:
    dim = node.attributes["dim"]
    if node.op == "select":
        return np.take(values, node.attributes["index"], axis=dim)
    place = [slice(None)] * values.ndim
    place[dim] = slice(node.attributes["start"], node.attributes["end"], node.attributes["step"])
    return values[tuple(place)]


@st.composite
def steps(draw: st.DrawFn, shape: list[int]) -> Node:
    """A slice or a selection of a tensor of this shape."""
    dim = draw(st.integers(0, len(shape) - 1))
    start = draw(st.integers(-shape[dim], shape[dim] - 1))
    options: dict[str, int] = {"dim": dim, "start": start, "end": shape[dim], "step": draw(st.integers(1, 3))}
    op = draw(st.sampled_from(["slice", "select"] if dim < len(shape) - 1 else ["slice"]))
    return Node(id="n", op=op, inputs=(), slots=(), outputs=(), attributes=options | {"index": start})


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.data())
def test_slices_of_slices_cover_the_rows_that_numpy_takes(shape: list[int], data: st.DataObject) -> None:
    rows = np.repeat(np.arange(int(np.prod(shape[:-1]))), shape[-1]).reshape(shape)  # each row has a number
    boxes, seen = [], set()
    for _ in range(data.draw(st.integers(1, 4))):
        chain, values = [], rows
        for _ in range(data.draw(st.integers(1, 3))):
            if values.ndim < 2 or 0 in values.shape:
                break
            node = data.draw(steps(list(values.shape)))
            chain.append((node, values.shape, taken(node, values).shape))
            values = taken(node, values)
        asked = [Box()]
        for node, before, after in reversed(chain):
            asked = through(node, before, after, asked)
        boxes += asked
        seen |= set(values.ravel().tolist())
    assert covered(shape, boxes) * int(np.prod(shape[:-1])) == len(seen)


@pytest.mark.parametrize(("forward", "rows"), [
    ("(lambda p: p[0] * p[1] + p[2])((a @ b).view(3, 8, 4))", 24),
    ("torch.cat([(a @ b).view(4, 6, 4)[i::2, j::2] for i in (0, 1) for j in (0, 1)], -1)", 24),
    ("(lambda p: (p[:12], p[6:18]))(a @ b)", 18), ("(lambda p: (p[-1:], p[-1]))(a @ b)", 1),
    ("(lambda p: (p[:, 0], p[:, 1:]))(a @ b)", 24)])
def test_a_product_makes_the_rows_that_its_readers_take_together(graph_of: Callable[..., Graph], forward: str,
                                                                 rows: int) -> None:
    made = bounds(graph_of(forward, "torch.rand(24, 17), torch.rand(17, 4)"), resolve(["H100 PCIe"]))
    assert sum(made.matrix_flop.values()) == 2 * rows * 17 * 4
