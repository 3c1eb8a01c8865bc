"""Marks on operators of which less is needed than their arguments tell: what follows from no data and can be had before
any call, what a mask of positions makes zero, what a loss picks of logarithms, products with their own transpose.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.asks import Part, size
from enlist.tools.solar.rules.equal import equal_slices
from enlist.tools.solar.rules.movement import MADE
from enlist.tools.solar.rules.once import DRAWN
from enlist.tools.solar.rules.seen import TURNS, turned
from enlist.tools.solar.rules.structure import ROWS, SYMMETRIC
from enlist.tools.solar.work import Work

FREE = "without_data"
"""The attribute of an operator whose result can be had before any call."""
DIFFERENT = "different"
"""The attribute of an operator that says which share of its results is different, as [numerator, denominator]."""
PICKED = "picked"
"""The attribute of a log-softmax of which a loss picks so many elements."""
_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_PICKS = frozenset(("nll_loss_forward", "nll_loss2d_forward", "nll_loss_nd", "nll_loss", "gather"))


def marked(graph: Graph, supports: Mapping[str, Part]) -> Graph:
    """The graph with these marks; itself where there is nothing to mark."""
    marks: dict[str, dict[str, object]] = {}
    free: set[str] = set()
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for tensor in node.inputs:
            readers.setdefault(tensor, []).append(node)
        made = node.op in MADE if not node.inputs else all(t in free for t in node.inputs)
        if made and "." not in node.op and "::" not in node.op and not node.op.startswith((*DRAWN, "as_strided",
                                                                                          "loop_")):
            free.update(node.outputs)
            if any(graph.by_id[t].alias_of is None for t in node.outputs) and node.op not in MADE:
                marks[node.id] = {FREE: True}
        elif node.op in ("mul", "multiply", "softmax", "_softmax", *_PRODUCTS) and node.outputs[0] in supports:
            out, there = graph.by_id[node.outputs[0]], supports[node.outputs[0]]
            part = Fraction(size(there), max(1, out.elements))
            if part < 1 and all(end <= n for (_, end), n in zip(there, out.shape, strict=True)):
                marks[node.id] = {ROWS: [*part.as_integer_ratio(), False]}
    for name, share in equal_slices(graph).items():
        marks.setdefault(name, {})[DIFFERENT] = list(share.as_integer_ratio())
    for name in _symmetric(graph):
        marks.setdefault(name, {})[SYMMETRIC] = True
    for node in graph.nodes:
        if node.op in ("log_softmax", "_log_softmax") and not graph.by_id[node.outputs[0]].is_output:
            after = readers.get(node.outputs[0], [])
            if after and all(reader.op in _PICKS for reader in after):
                marks[node.id] = {PICKED: sum(_picked(graph, reader) for reader in after)}
    if not marks:
        return graph
    return graph.model_copy(update={"nodes": tuple(
        n.model_copy(update={"attributes": n.attributes | marks[n.id]}) if n.id in marks else n for n in graph.nodes)})


def _symmetric(graph: Graph) -> list[str]:
    """Products of a matrix with its own transpose."""
    turn: dict[str, str] = {}
    found = []
    for node in graph.nodes:
        if node.op in TURNS:
            count = len(graph.by_id[node.inputs[0]].shape)
            if turned(node, count)[-2:] == [count - 1, count - 2]:
                turn[node.outputs[0]] = node.inputs[0]
        elif node.op in _PRODUCTS and len(node.inputs) == 2:
            left, right = node.inputs
            own = left == right if node.op == "linear" else turn.get(right) == left or turn.get(left) == right
            if own and not graph.by_id[left].dtype.startswith("complex"):
                found.append(node.id)
    return found


def _picked(graph: Graph, reader: Node) -> int:
    target = reader.input("target") or reader.input("index")
    return graph.by_id[target].elements if target is not None else 0


def less_of(graph: Graph, node: Node, made: Work) -> Work:
    """The work of a marked operator."""
    if FREE in node.attributes:
        shown = any(graph.by_id[t].is_output for t in node.outputs)
        return Work("move", reads=dict.fromkeys(node.inputs, 0), writes=None if shown else 0,
                    less="can be had before any call", launches=made.launches)
    share = node.attributes.get(DIFFERENT)
    if isinstance(share, list):
        part = Fraction(int(str(share[0])), int(str(share[1])))
        made = replace(made, matrix_flop=int(made.matrix_flop * part), vector_flop=int(made.vector_flop * part),
                       special=int(made.special * part), nests=(), less=made.less or "equal slices are worked out once")
    if PICKED in node.attributes:
        whole = graph.by_id[node.inputs[0]].elements
        picked = min(int(str(node.attributes[PICKED])), whole)
        return replace(made, vector_flop=made.vector_flop - whole + picked, less="a loss picks one of each row")
    return made
