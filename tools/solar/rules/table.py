"""Every rule of every front end by operator name, and the cost of a node."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.jaxpr import rules as jaxpr
from enlist.tools.solar.loops import rules as loops
from enlist.tools.solar.rules import aten
from enlist.tools.solar.rules.marks import less_of
from enlist.tools.solar.rules.structure import PART, ROWS, kept_part
from enlist.tools.solar.work import Call, Rule, Work

RULES: dict[str, Rule] = {**aten.RULES, **jaxpr.RULES, **loops.RULES}
IN_PLACE = aten.IN_PLACE | jaxpr.IN_PLACE


def work(graph: Graph, node: Node) -> Work | None:
    """The cost of one execution of a node that moves data, or None where its operator is not modelled."""
    rule = RULES.get(node.op)
    if rule is None:
        return None
    made = rule(Call(graph, node))
    if made is not None:
        made = less_of(graph, node, made)
    if made is not None and made.multiply is None and "." not in node.op:
        made = _of_parts(graph, node, made)
    if made is not None and not made.less and PART in node.attributes:
        made = replace(made, less=str(node.attributes[PART]))
    if made is not None and "." not in node.op:
        made = _of_triangles(graph, node, made)
    share = node.attributes.get(ROWS)
    return _of_rows(graph, node, made, share) if made is not None and isinstance(share, list) else made


def _of_triangles(graph: Graph, node: Node, made: Work) -> Work:
    """What is known to be zero, or minus infinity, of a tensor from outside need not be read."""
    surely = dict(made.surely)
    for name in node.inputs:
        tensor = graph.by_id[name]
        part = kept_part(tensor.structure, tensor.shape)
        if part < 1 and tensor.role not in ("intermediate", "output"):
            known = surely.get(name, made.reads.get(name, tensor.distinct))
            surely[name] = min(known, int(tensor.distinct * part))
    return made if surely == made.surely else replace(made, surely=surely)


_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def _of_parts(graph: Graph, node: Node, made: Work) -> Work:
    """Complex numbers are worked on in the dtype of their parts."""
    part = next((_PARTS[d] for t in (*node.inputs, *node.outputs) if (d := graph.by_id[t].dtype) in _PARTS), None)
    return replace(made, multiply=part) if part else made


def _of_rows(graph: Graph, node: Node, made: Work, share: list[Any]) -> Work:
    """The work for a share of the result's rows; inputs that have these rows, or whose matrices need not all be used,
    are surely read to that share only."""
    part = Fraction(int(share[0]), int(share[1]))
    out = graph.by_id[node.outputs[0]]
    surely = dict(made.surely)
    for place, tensor in enumerate(node.inputs):
        shape, known = graph.by_id[tensor].shape, graph.by_id[tensor].distinct
        if place == 0 or shape == out.shape or share[2]:
            surely[tensor] = int(min(surely.get(tensor, made.reads.get(tensor, known)), known) * part)
    return replace(made, matrix_flop=int(made.matrix_flop * part), vector_flop=int(made.vector_flop * part),
                   special=int(made.special * part), surely=surely, nests=(), twice=False,
                   less=made.less or f"only {part} of it is used")
