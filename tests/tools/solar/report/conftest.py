"""Graphs made by hand for the tests of reports: no front end takes part."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.graph import Graph, Node, Role, Tensor

Stack = Callable[..., Graph]


@pytest.fixture
def stack() -> Stack:
    """`stack(layers, width, rows, where)`: a linear layer and a relu, as often as there are layers, in float32."""

    def make(layers: int = 2, width: int = 512, rows: int = 64, where: str = "layers.{n}",
             target: str = "stack.py:Model") -> Graph:
        def tensor(name: str, shape: tuple[int, int], role: Role) -> Tensor:
            return Tensor(id=name, shape=shape, strides=(shape[1], 1), dtype="float32", role=role, name=name,
                          is_output=role == "output")

        tensors, nodes, last = [tensor("x", (rows, width), "input")], [], "x"
        for n in range(layers):
            end: Role = "output" if n == layers - 1 else "intermediate"
            tensors += [tensor(f"w{n}", (width, width), "parameter"), tensor(f"p{n}", (rows, width), "intermediate"),
                        tensor(f"r{n}", (rows, width), end)]
            place = where.format(n=n)
            nodes += [Node(id=f"n{n}", op="linear", where=place, inputs=(last, f"w{n}"), slots=("input", "weight"),
                           outputs=(f"p{n}",)),
                      Node(id=f"m{n}", op="relu", where=place, inputs=(f"p{n}",), slots=("self",), outputs=(f"r{n}",))]
            last = f"r{n}"
        return Graph(target=target, tensors=tuple(tensors), nodes=tuple(nodes), assumed=("inputs: made by hand",))

    return make
