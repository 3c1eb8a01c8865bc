"""Graphs of one operator, written by hand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.rules.table import work
from enlist.tools.solar.work import Work


def contiguous(name: str, shape: Sequence[int], dtype: str = "float32", role: str = "input", **more: Any) -> Tensor:
    strides, span = [], 1
    for size in reversed(shape):
        strides.append(span)
        span *= size
    return Tensor(id=name, shape=tuple(shape), strides=tuple(reversed(strides)), dtype=dtype,
                  role=role, **more)  # type: ignore[arg-type]


def one(op: str, operands: Mapping[str, Any], outputs: Sequence[Any], attributes: Mapping[str, Any] | None = None,
        phase: str = "forward") -> Graph:
    """A graph of one operator. Operands and outputs are shapes, (shape, dtype), tensors, or lists of these."""
    tensors, slots = [], []
    for slot, given in operands.items():
        for place, operand in enumerate(given if isinstance(given, list) else [given]):
            tensors.append(_tensor(f"{slot}{place}", operand, "input"))
            slots.append(slot)
    made = [_tensor(f"out{i}", o, "output") for i, o in enumerate(outputs)]
    node = Node(id="node", op=op, inputs=tuple(t.id for t in tensors), slots=tuple(slots),
                outputs=tuple(t.id for t in made), attributes=dict(attributes or {}), phase=phase)  # type: ignore[arg-type]
    return Graph(target="one", tensors=(*tensors, *made), nodes=(node,), assumed=())


def _tensor(name: str, given: Any, role: str) -> Tensor:
    if isinstance(given, Tensor):
        return given
    shape, dtype = given if len(given) == 2 and isinstance(given[1], str) else (given, "float32")
    return contiguous(name, shape, dtype, role, is_output=role == "output")


@pytest.fixture(scope="session")
def work_of() -> Callable[..., Work]:
    """The work of one operator: `work_of(op, operands, outputs, attributes, phase)`."""

    def of(*args: Any, **kwargs: Any) -> Work:
        graph = one(*args, **kwargs)
        made = work(graph, graph.nodes[0])
        assert made is not None
        return made

    return of


@pytest.fixture(scope="session")
def modelled() -> Callable[..., bool]:
    """Whether one operator, given as to `work_of`, has a rule that models it."""

    def known(*args: Any, **kwargs: Any) -> bool:
        graph = one(*args, **kwargs)
        return work(graph, graph.nodes[0]) is not None

    return known
