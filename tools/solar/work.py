"""Work: the least that one operator does, in the terms that every bound is made of.

A rule turns a node of any front end into its `Work`; bounds know no operator by name. FLOP count two for a multiply and
an add (never MACs). A count is what the operator needs as written, without padding and without what its operands'
structure makes zero: a causal mask halves, a triangular product takes a sixth, a mixture of experts pays for the routed
ones. Where less is sure than is likely (rows that ids choose), `reads` says what is likely and `surely` what no run can
avoid: estimates use the first, lower bounds the second.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from enlist.tools.solar.graph import Graph, Node, Tensor

Kind = Literal["matmul", "convolution", "attention", "vector", "move"]


@dataclass(frozen=True)
class Nest:
    """`batch` independent products of an m x k by a k x n matrix, as which (part of) an operator may be seen; what
    input/output bounds for matrix-product-like nests need."""

    batch: int
    m: int
    n: int
    k: int


@dataclass(frozen=True)
class Work:
    """The least that one operator does.

    Attributes:
        matrix_flop: FLOP that matrix units can do (products and their sums).
        vector_flop: FLOP on vector units beside them, without special functions.
        special: evaluations of special functions (exp, log, tanh, erf, sin, rsqrt, division by a variable, ...).
        reads: elements read, by input, where that is not all of its distinct elements.
        surely: elements that any correct run must read whatever the data, by input, where that is fewer still.
        writes: elements written, None for all of the outputs.
        equation: the operator as an einsum ("bmk,kn->bmn"), where it is one.
        nests: for input/output bounds; empty where the operator is not like a matrix product.
        multiply: dtype in which the matrix FLOP are multiplied, where it is not that of the operands (weights that are
            dequantised first); torch's name, or "tf32" for float32 products that the program lets run so.
        less: what lowered the count below the dense one ("causal half", "triangular operands"), "" where nothing did.
        launches: kernels that eager execution launches for it, for estimates.
        group: for a reduction, the elements of the first input on which each output element depends.
        twice: whether each group of the first input is needed again once its reduction is known (softmax, norms).
        collective, peers: what moves between devices ("all_reduce", "all_gather", "reduce_scatter", "all_to_all",
            "send") and how many take part; the bytes are those of the first input.
    """

    kind: Kind
    matrix_flop: int = 0
    vector_flop: int = 0
    special: int = 0
    reads: dict[str, int] = field(default_factory=dict)
    surely: dict[str, int] = field(default_factory=dict)
    writes: int | None = None
    equation: str = ""
    nests: tuple[Nest, ...] = ()
    multiply: str | None = None
    less: str = ""
    launches: int = 1
    group: int = 0
    twice: bool = False
    collective: str = ""
    peers: int = 1


@dataclass(frozen=True)
class Call:
    """A node with its graph, for reading arguments by name."""

    graph: Graph
    node: Node

    def tensor(self, *slots: str) -> Tensor | None:
        """The tensor in the first of these argument slots that is filled."""
        found = next((t for s in slots if (t := self.node.input(s)) is not None), None)
        return self.graph.by_id[found] if found is not None else None

    def first(self) -> Tensor:
        return self.graph.by_id[self.node.inputs[0]]

    def out(self) -> Tensor:
        return self.graph.by_id[self.node.outputs[0]]

    def attribute(self, name: str, default: Any) -> Any:
        value = self.node.attributes.get(name)
        return default if value is None else value

    def per_dimension(self, name: str, default: Any, count: int) -> list[int]:
        """An argument that is one number or one per spatial dimension."""
        value = self.attribute(name, default)
        many = list(value) if isinstance(value, list) and value else [default if value == [] else value]
        return many * count if len(many) == 1 else many


Rule = Callable[[Call], Work | None]
"""Turns a node into its work; None where it meets a case that it does not model."""
