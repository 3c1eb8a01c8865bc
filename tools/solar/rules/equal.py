"""Slices of a tensor that are equal because something before was expanded or repeated, and need be worked out once.

By tensor and dimension there is a pattern: how many different slices there are, and where they come from. An operator
that works on each index of a dimension alone (`asks` tells) has no more different results there than its operands have
patterns. Rules see expanded operands by their strides already; what is found here is the rest.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.asks import POINTWISE, VIEWS, asks, whole
from enlist.tools.solar.rules.seen import groups, through

Pattern = tuple[int, str]
"""How many different slices, and which operator has laid them out; ("1", "") where all are equal."""
_BY_STRIDES = POINTWISE | {"mm", "bmm", "matmul", "linear", "conv1d", "conv2d", "conv3d", "addmm"}


def equal_slices(graph: Graph) -> dict[str, Fraction]:
    """By operator, the share of its work that is different, where that is not all and its rule does not see it."""
    found: dict[str, dict[int, Pattern]] = {}
    shares: dict[str, Fraction] = {}
    for tensor in graph.tensors:
        lies = zip(tensor.shape, tensor.strides, strict=True)
        if 0 in tensor.strides and (same := {d: (1, "") for d, (n, step) in enumerate(lies) if n > 1 and not step}):
            found[tensor.id] = same
    for node in graph.nodes:
        if len(node.outputs) != 1 or "." in node.op:
            continue
        out = graph.by_id[node.outputs[0]]
        made = _repeats(graph, node) if node.op in ("repeat", "repeat_interleave") else None
        if made is None and any(t in found for t in node.inputs):
            made = _carried(graph, node, found)
        if not made:
            continue
        found[out.id] = found.get(out.id, {}) | made
        if out.alias_of is None and node.op not in ("repeat", "repeat_interleave"):
            share = Fraction(1)
            for dim, (count, _) in made.items():
                if not (node.op in _BY_STRIDES and _seen_by_rule(graph, node, dim)):
                    share *= Fraction(count, out.shape[dim])
            if share < 1:
                shares[node.id] = share
    return shares


def _repeats(graph: Graph, node: Node) -> dict[int, Pattern]:
    """Dimensions that a repetition makes longer."""
    source, out = graph.by_id[node.inputs[0]], graph.by_id[node.outputs[0]]
    lead = len(out.shape) - len(source.shape)
    made = {d: (1, "") for d in range(lead) if out.shape[d] > 1}
    for d, n in enumerate(source.shape):
        if out.shape[lead + d] > n:
            made[lead + d] = (n, node.id) if n > 1 else (1, "")
    return made


def _carried(graph: Graph, node: Node, found: Mapping[str, Mapping[int, Pattern]]) -> dict[int, Pattern]:
    """Patterns of a result, one dimension at a time."""
    out = graph.by_id[node.outputs[0]]
    shapes = [graph.by_id[t].shape for t in node.inputs]
    full, made = whole(out.shape), {}
    if node.op in ("view", "reshape", "_unsafe_view"):
        made = _joined(node, shapes[0], out.shape, found.get(node.inputs[0], {}))
    for dim, n in enumerate(out.shape):
        if n < 2:
            continue
        part = tuple((0, 1) if d == dim else p for d, p in enumerate(full))
        if node.op in VIEWS and len(node.inputs) == 1:
            seen = through(node, shapes[0], out.shape, part)
            plan = None if seen is None else (seen[0], [seen[1]])
        else:
            plan = asks(graph, node, part)
        if plan is None or plan[0] != part:
            continue
        patterns = set()
        for tensor, shape, box in zip(node.inputs, shapes, plan[1], strict=True):
            cut = [d for d, (p, m) in enumerate(zip(box, shape, strict=True)) if p != (0, m)]
            if len(cut) > 1 or (cut and shape[cut[0]] != n and node.op not in VIEWS):
                patterns.add((n, ""))
            elif cut:
                patterns.add(found.get(tensor, {}).get(cut[0], (n, "")))
        patterns.discard((1, ""))
        if not patterns:
            made[dim] = (1, "")
        elif len(patterns) == 1 and (pattern := next(iter(patterns)))[1] and pattern[0] < n:
            made[dim] = pattern
    return made


def _joined(node: Node, shape: tuple[int, ...], out: tuple[int, ...],
            found: Mapping[int, Pattern]) -> dict[int, Pattern]:
    """Dimensions that a reshape makes of several, of which some hold equal slices."""
    made: dict[int, Pattern] = {}
    for mine, theirs in groups(shape, out) if prod(shape) == prod(out) and 0 not in shape else ():
        if len(theirs) == 1 and len(mine) > 1:
            different = prod(found[d][0] if d in found else shape[d] for d in mine)
            if different < out[theirs[0]]:
                made[theirs[0]] = (different, node.id) if different > 1 else (1, "")
    return made


def _seen_by_rule(graph: Graph, node: Node, dim: int) -> bool:
    """Whether the operands show by their strides that slices are equal."""
    out = graph.by_id[node.outputs[0]]
    back = len(out.shape) - dim
    operands = [graph.by_id[t] for t in node.inputs]
    if node.op in ("linear", "mm", "matmul", "addmm") and back > 1:
        operands = operands[-2:-1] if node.op == "addmm" else operands[:1] if len(operands[1].shape) == 2 else operands
    return all(len(t.shape) < back or t.shape[-back] == 1 or t.strides[-back] == 0 for t in operands)


