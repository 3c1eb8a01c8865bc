"""Operators made as small as what is used of their results, and products without what is known to be zero.

Going backward from the outputs, the readers of a tensor ask for boxes of it (`asks`, and `seen` through views); the
box around them is what its maker makes, from slices of its own operands. So a slice of a product multiplies only the
rows and columns that it keeps, and reads only these. Going forward, zeros that a pad, a concatenation or a mask of
positions puts around a tensor are known, and the inner dimension of a product runs over the rest.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.rules.asks import VIEWS, Part, asks, hull, size, whole
from enlist.tools.solar.rules.once import written
from enlist.tools.solar.rules.seen import strides, through
from enlist.tools.solar.rules.structure import PART

FIRST_QUERY = "first_query"
"""The attribute of a causal attention that says which position its first query has."""
_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_LOOSE = ("dense", "zero", "constant")
_SAID = "nobody uses the rest"
Plan = tuple[Part, list[Part]]


def narrow(graph: Graph, known: Mapping[str, str], supports: Mapping[str, Part]) -> Graph:
    """The graph with its operators cut down; itself where all of everything is needed.

    Args:
        known: tags of tensors (`folded.tags`): what has a triangle or a mask is left to `structure`.
        supports: boxes outside of which a tensor is zero (`support.supports`).
    """
    plans, _ = _plans(graph, known, supports, frozenset())
    cut = any(plans.get(node.id, ()) is None or _cuts(graph, node, plans.get(node.id)) for node in graph.nodes)
    return _Cut(graph, plans).graph() if cut else graph


def asked(graph: Graph, known: Mapping[str, str], of: Collection[str]) -> dict[str, Part]:
    """By tensor, the box that its readers ask for; `of` are stacks of loops, of which parts may be."""
    return _plans(graph, known, {}, of)[1]


def _plans(graph: Graph, known: Mapping[str, str], supports: Mapping[str, Part],
           stacks: Collection[str]) -> tuple[dict[str, Plan | None], dict[str, Part]]:
    """By node, which box it makes of which boxes, None for what nobody asks for (what is not named makes all); and the
    boxes by tensor."""
    shared = written(graph)
    read = {t for node in graph.nodes for t in node.inputs}
    wanted: dict[str, Part] = {t.id: whole(t.shape) for t in graph.tensors if t.is_output or t.id not in read or (
        graph.root(t.id) in shared and t.id not in stacks and t.alias_of not in stacks)}
    plans: dict[str, Plan | None] = {}
    for node in reversed(graph.nodes):
        if node.outputs and not any(t in wanted for t in node.outputs):
            plans[node.id] = None
            continue
        plan = _plan(graph, node, wanted, known, supports)
        if plan is not None:
            plans[node.id] = plan
            wanted[node.outputs[0]] = plan[0]
        for place, tensor in enumerate(node.inputs):
            part = plan[1][place] if plan is not None else whole(graph.by_id[tensor].shape)
            if size(part) or not graph.by_id[tensor].elements:
                wanted[tensor] = hull(wanted[tensor], part) if tensor in wanted else part
    return plans, wanted


def _plan(graph: Graph, node: Node, wanted: Mapping[str, Part], known: Mapping[str, str],
          supports: Mapping[str, Part]) -> Plan | None:
    if len(node.outputs) != 1 or node.outputs[0] not in wanted or not node.inputs:
        return None
    out = graph.by_id[node.outputs[0]]
    part = wanted[out.id]
    if node.op in VIEWS and len(node.inputs) == 1:
        found = through(node, graph.by_id[node.inputs[0]].shape, out.shape, part)
        return None if found is None else (found[0], [found[1]])
    if node.op == "loop_slice" and "seen_turns" in node.attributes:
        seen = node.attributes["seen_turns"]
        first, end = (int(str(n)) for n in seen) if isinstance(seen, list) else (0, 0)
        return whole(out.shape), [((first, end), *whole(out.shape))]
    if out.alias_of is not None or any(known[t] not in _LOOSE for t in (*node.inputs, out.id)):
        return None
    plan = asks(graph, node, part)
    if plan is not None and node.op in ("mul", "multiply") and len(node.inputs) == 2:
        there = supports.get(out.id, whole(out.shape))
        return plan[0], [_within(graph.by_id[t].shape, there, p) for t, p in zip(node.inputs, plan[1], strict=True)]
    if plan is not None and node.op == "scaled_dot_product_attention" and "attn_mask" in node.slots:
        return plan[0], _keys_seen(node, plan[1], supports)
    if plan is not None and node.op in ("where", "masked_fill"):
        return plan[0], [_taken(graph, node, place, wanted_part, supports) for place, wanted_part in enumerate(plan[1])]
    if plan is None or node.op not in _PRODUCTS or len(node.inputs) < 2:
        return plan
    left, right = node.inputs[:2]
    at = len(graph.by_id[right].shape) - (1 if node.op == "linear" else 2)
    spans = [supports[t][d] for t, d in ((left, -1), (right, at)) if t in supports]
    first, end = max((s[0] for s in spans), default=0), min((s[1] for s in spans), default=plan[1][0][-1][1])
    if (first, end) != plan[1][0][-1] and first < end:
        parts = plan[1]
        parts[0] = (*parts[0][:-1], (first, end))
        parts[1] = tuple((first, end) if d == at else p for d, p in enumerate(parts[1]))
    return plan


def _taken(graph: Graph, node: Node, place: int, part: Part, supports: Mapping[str, Part]) -> Part:
    """The part of an operand that a choice by position takes."""
    there = supports.get(f"{node.id}/{node.slots[place]}")
    shape = graph.by_id[node.inputs[place]].shape
    return part if there is None or len(shape) < len(there) else _within(shape, there, part)


def _keys_seen(node: Node, parts: list[Part], supports: Mapping[str, Part]) -> list[Part]:
    """Keys and values that a mask of positions lets some query see."""
    place = node.slots.index("attn_mask")
    there = supports.get(node.inputs[place])
    if there is None or parts[place][-1][0] == parts[place][-1][1]:
        return parts
    seen = there[-1]
    return [(*p[:-2], seen, p[-1]) if s in ("key", "value") else (*p[:-1], seen) if s == "attn_mask" else p
            for s, p in zip(node.slots, parts, strict=True)]


def _within(shape: tuple[int, ...], there: Part, part: Part) -> Part:
    """A part, cut to a box that broadcasts with it."""
    there = there[max(0, len(there) - len(shape)):]
    lead = len(shape) - len(there)
    return (*part[:lead], *((max(a, c), max(a, c, min(b, d))) if shape[lead + i] > 1 else (a, b)
                            for i, ((a, b), (c, d)) in enumerate(zip(part[lead:], there, strict=True))))


def _cuts(graph: Graph, node: Node, plan: Plan | None) -> bool:
    """Whether a node makes or takes less than all; that a view sees a part only is no saving."""
    if plan is None or node.op in VIEWS:
        return False
    shapes = [graph.by_id[t].shape for t in (*node.outputs, *node.inputs)]
    return any(part != whole(shape) for part, shape in zip((plan[0], *plan[1]), shapes, strict=True))


@dataclass
class _Cut:
    """Builds the smaller graph; `boxes` says of each tensor that is made smaller which part of it there is."""

    before: Graph
    plans: Mapping[str, Plan | None]
    boxes: dict[str, Part] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    pieces: dict[tuple[str, Part], str] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)

    def graph(self) -> Graph:
        made = {t for node in self.before.nodes for t in node.outputs}
        self.tensors = {t.id: t for t in self.before.tensors if t.id not in made}
        self.turns = {t: node.repeat for node in self.before.nodes for t in node.outputs}
        for node in self.before.nodes:
            plan = self.plans.get(node.id, ())
            if plan is None:
                continue
            if plan == ():
                self.tensors.update((t, self.before.by_id[t]) for t in node.outputs)
                self.nodes.append(node)
                continue
            self._made(node, *plan)  # type: ignore[misc]
        return self.before.model_copy(update={"tensors": tuple(self.tensors.values()), "nodes": tuple(self.nodes)})

    def _made(self, node: Node, part: Part, parts: list[Part]) -> None:
        old = self.before.by_id[node.outputs[0]]
        given = [(self._piece(t, p, node), s) for t, s, p in zip(node.inputs, node.slots, parts, strict=True)
                 if size(p) or not self.before.by_id[t].elements]
        inputs, slots = tuple(t for t, _ in given), tuple(s for _, s in given)
        shape = tuple(b - a for a, b in part)
        if inputs == node.inputs and shape == old.shape:
            self.tensors[old.id] = old
            self.nodes.append(node)
            return
        self.boxes[old.id] = part
        attributes = dict(node.attributes) | self._told(node, part, old, parts)
        made = node.model_copy(update={"inputs": inputs, "slots": slots, "attributes": attributes})
        if node.op in (*VIEWS, "loop_slice") and old.alias_of is not None:
            source = self.tensors[inputs[0]]
            tensor = old.model_copy(update={"shape": shape, "alias_of": source.id, "strides": strides(
                made, source.shape, source.strides, shape)})
        else:
            tensor = old if shape == old.shape else _laid(old, shape)
            alone = self.tensors[inputs[0]] if len(inputs) == 1 else None
            if alone is not None and node.op in ("cat", "constant_pad_nd") and alone.shape == shape and \
                    not old.is_output:  # nothing is put beside it any more
                made = made.model_copy(update={"op": "slice", "attributes": {"dim": 0, "start": 0}, "slots": ("self",)})
                tensor = alone.model_copy(update={"id": old.id, "alias_of": alone.id, "is_output": False,
                                                  "role": "intermediate"})
            elif node.op not in VIEWS:
                made = made.model_copy(update={"attributes": attributes | {PART: _SAID}})
        self.tensors[old.id] = tensor
        self.nodes.append(made)

    def _told(self, node: Node, part: Part, old: Tensor, parts: list[Part]) -> dict[str, object]:
        """Arguments that are otherwise for a part."""
        if node.op == "slice":
            return {"start": 0, "end": None}
        if node.op == "select":
            return {"index": 0}
        if node.op == "constant_pad_nd":
            return {"pad": []}
        if node.op.startswith("conv") or "pool" in node.op:
            count = int(next(c for c in node.op if c.isdigit()))
            pads = node.attributes.get("padding", 0)
            many = [int(str(p)) for p in pads] if isinstance(pads, list) else [int(str(pads))]
            many = many * count if len(many) == 1 else many
            cut = [p != (0, n) for p, n in zip(part[-count:], old.shape[-count:], strict=True)]
            told: dict[str, object] = {"padding": [0 if c else p for c, p in zip(cut, many, strict=True)]}
            groups = node.attributes.get("groups", 1)
            if isinstance(groups, int) and groups > 1:
                told["groups"] = groups * (part[1][1] - part[1][0]) // old.shape[1]
            return told
        if node.op in ("index", "index_select") and "places" in node.attributes:
            return {"places": None}
        if node.op == "scaled_dot_product_attention" and node.attributes.get("is_causal"):
            return {FIRST_QUERY: part[-2][0]}
        return {}

    def _piece(self, tensor: str, part: Part, reader: Node) -> str:
        """The tensor, or a slice of what there is of it."""
        there = self.boxes.get(tensor) or whole(self.before.by_id[tensor].shape)
        if part == there:
            return tensor
        if (tensor, part) in self.pieces:
            return self.pieces[tensor, part]
        source = self.tensors[tensor]
        for dim, (mine, have) in enumerate(zip(part, there, strict=True)):
            if mine == have:
                continue
            name = f"{source.id}[{dim}:{mine[0]}:{mine[1]}]"
            if name not in self.tensors:
                cut = tuple(mine[1] - mine[0] if d == dim else n for d, n in enumerate(source.shape))
                self.tensors[name] = source.model_copy(update={
                    "id": name, "shape": cut, "alias_of": source.id, "role": "intermediate", "name": "",
                    "is_output": False})
                self.nodes.append(Node(
                    id=name, op="slice", where=reader.where, inputs=(source.id,), slots=("self",), outputs=(name,),
                    repeat=self.turns.get(tensor, 1), phase=reader.phase,
                    attributes={"dim": dim, "start": mine[0] - have[0], "end": mine[1] - have[0]}))
            source = self.tensors[name]
        self.pieces[tensor, part] = source.id
        return source.id


def _laid(old: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A smaller tensor with memory of its own, one row after the other."""
    made, step = [], 1
    for n in reversed(shape):
        made.append(step)
        step *= max(1, n)
    return old.model_copy(update={"shape": shape, "strides": tuple(reversed(made)), "structure": "dense",
                                  "structure_from": ""})
