"""Boxes outside of which a tensor is known to be zero: what pads, concatenations with zeros, writes of zeros and masks
of positions leave of it."""

from collections.abc import Mapping

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.asks import Part, number, numbers, size, whole
from enlist.tools.solar.rules.masks import Positions
from enlist.tools.solar.rules.seen import TURNS, turned
from enlist.tools.solar.rules.structure import hides

_KEEP = frozenset(("clone", "contiguous", "_to_copy", "detach", "relu", "neg", "abs", "tanh", "square", "sqrt", "sin",
                   "silu", "gelu", "leaky_relu", "div", "alias"))
_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_MOST = 1 << 16


def supports(graph: Graph, known: Mapping[str, str]) -> dict[str, Part]:
    """By tensor, the box, where it is less than all of the tensor and more than nothing."""
    found: dict[str, Part] = {}
    positions = Positions(graph)
    makes = any(node.op == "arange" for node in graph.nodes)
    for node in graph.nodes:
        if len(node.outputs) != 1 or not node.inputs or "." in node.op:
            continue
        out = graph.by_id[node.outputs[0]]
        if makes and node.op in ("where", "masked_fill"):
            _chosen(graph, node, positions, found)
        part = _of(graph, node, known, found)
        if part is None and makes and out.elements <= _MOST:
            part = positions.support(out.id)
        if part is not None and size(part) and part != whole(out.shape):
            found[out.id] = part
    return found


def _chosen(graph: Graph, node: Node, positions: Positions, found: dict[str, Part]) -> None:
    """Where a choice that follows from positions takes its operands: under "node/slot"."""
    mask = node.inputs[1 if node.op == "masked_fill" else 0]
    for slot in node.slots:
        if slot in ("self", "other"):
            part = positions.support(mask, false=slot == "other" or node.op == "masked_fill")
            if part is not None:
                found[f"{node.id}/{slot}"] = part
                value = node.attributes.get("value" if node.op == "masked_fill" else "other")
                if slot == "self" and hides(value):  # what the mask leaves has weight
                    shape = graph.by_id[node.outputs[0]].shape
                    found[f"hidden {node.outputs[0]}"] = (*whole(shape)[:len(shape) - len(part)], *part)


def _of(graph: Graph, node: Node, known: Mapping[str, str], found: Mapping[str, Part]) -> Part | None:
    out, source = graph.by_id[node.outputs[0]], graph.by_id[node.inputs[0]]
    here = found.get(source.id, whole(source.shape))
    if node.op in _KEEP and source.shape == out.shape:
        return here
    if node.op in TURNS and len(source.shape) == len(out.shape):
        return tuple(here[d] for d in turned(node, len(here)))
    if node.op == "constant_pad_nd" and node.attributes.get("value", 0) in (0, 0.0, None):
        return _padded(node, here, out.shape)
    if node.op == "cat":
        return _joined(graph, node, known, out.shape)
    if node.op == "slice_scatter" and len(node.inputs) == 2 and known[node.inputs[1]] == "zero":
        return _cut(node, here, out.shape)
    if node.op in _PRODUCTS and len(node.inputs) == 2:
        return _product(graph, node, found, out.shape)
    if node.op in ("softmax", "_softmax") and f"hidden {source.id}" in found:
        return found[f"hidden {source.id}"]
    if node.op in ("mul", "multiply"):
        return _both(graph, node, found, out.shape)
    return None


def _product(graph: Graph, node: Node, found: Mapping[str, Part], out: tuple[int, ...]) -> Part | None:
    """Rows and columns that are not zero in the operands."""
    left, right = (graph.by_id[t] for t in node.inputs)
    if len(left.shape) != len(out) or len(right.shape) < 2:
        return None
    rows, columns = (found.get(t.id, whole(t.shape)) for t in (left, right))
    lead = rows[:-1] if left.shape[:-1] == out[:-1] else whole(out[:-1])
    return (*lead, columns[-2 if node.op == "linear" else -1])


def _padded(node: Node, here: Part, out: tuple[int, ...]) -> Part | None:
    pads = numbers(node, "pad")
    made = []
    for back, ((first, end), n) in enumerate(zip(reversed(here), reversed(out), strict=True)):
        before = pads[2 * back] if 2 * back < len(pads) else 0
        made.append((max(0, first + before), min(n, end + before)))
    return tuple(reversed(made))


def _joined(graph: Graph, node: Node, known: Mapping[str, str], out: tuple[int, ...]) -> Part | None:
    dim, at, spans = number(node, "dim", 0) % len(out), 0, []
    for tensor in node.inputs:
        shape = graph.by_id[tensor].shape
        if len(shape) != len(out):
            return None
        if known[tensor] != "zero" and shape[dim]:
            spans.append((at, at + shape[dim]))
        at += shape[dim]
    return tuple((spans[0][0], spans[-1][1]) if d == dim else (0, n) for d, n in enumerate(out)) if spans else None


def _cut(node: Node, here: Part, out: tuple[int, ...]) -> Part:
    """Without the first or last places that zeros are written to."""
    dim = number(node, "dim", 0) % len(out)
    first, end = number(node, "start", 0), min(number(node, "end", out[dim]), out[dim])
    first = max(0, first + out[dim]) if first < 0 else first
    end = end + out[dim] if end < 0 else end
    low, high = here[dim]
    if number(node, "step", 1) == 1:
        low, high = (max(low, end) if first <= low else low), (min(high, first) if end >= high else high)
    return tuple((low, high) if d == dim else p for d, p in enumerate(here))


def _both(graph: Graph, node: Node, found: Mapping[str, Part], out: tuple[int, ...]) -> Part:
    made = list(whole(out))
    for tensor in node.inputs:
        shape = graph.by_id[tensor].shape
        lead = len(out) - len(shape)
        for d, span in enumerate(found.get(tensor, whole(shape))):
            if shape[d] == out[lead + d]:
                made[lead + d] = max(made[lead + d][0], span[0]), min(made[lead + d][1], span[1])
    return tuple(made)
