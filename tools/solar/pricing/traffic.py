"""How many different bytes of a storage are needed, when it is used through views.

`coverage` is exact for whole tensors, splits, and slices or selections along one dimension, and a lower bound else
(views that may overlap count as the larger one). So a fused bound never charges the same byte twice.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.table import IN_PLACE, work

LOOP_PARTS = frozenset(("loop_slice", "loop_stack"))
"""Views of what one iteration of a loop sees of a tensor, or writes of it."""


def is_free(graph: Graph, node: Node) -> bool:
    """Whether a node moves no data: all that it makes are views."""
    return node.op not in IN_PLACE and all(graph.by_id[t].alias_of is not None for t in node.outputs)


@dataclass(frozen=True)
class Views:
    """The views of every tensor of a graph, by the node that makes them."""

    graph: Graph
    made: dict[str, list[Node]] = field(default_factory=lambda: defaultdict(list))
    maker: dict[str, Node] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> "Views":
        views = cls(graph)
        for node in graph.nodes:
            base = graph.by_id[node.outputs[0]].alias_of if node.outputs else None
            if base is not None:
                views.made[base].append(node)
            views.maker.update((t, node) for t in node.outputs)
        return views

    def coverage(self, tensor: str, used: Mapping[str, int], through: Mapping[str, Iterable[Node]],
                 all_turns: bool = True) -> int:
        """Different elements of `tensor` that are used, where `used` tells elements used of it and of its views, and
        `through` the view operators between them; over all turns of a loop, or in one."""
        whole = used.get(tensor, 0)
        spans: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # dimension: (first, last + 1, elements)
        best = whole
        for node in through.get(tensor, ()):
            covered = sum(self.coverage(t, used, through, all_turns) for t in node.outputs)  # splits do not overlap
            if all_turns and node.op in LOOP_PARTS:  # each iteration sees another part
                covered *= max(1, node.repeat // self._repeats(tensor))
            if node.op in IN_PLACE:  # what was just written need not be read from the storage
                cost = work(self.graph, node)
                covered = max(0, covered - (cost.writes or 0 if cost else 0))
            span = _span(self.graph, node)
            if span is not None and covered:
                spans[span[0]].append((*span[1:], covered))
            best = max(best, covered)
        for parts in spans.values():
            best = max(best, _disjoint(parts))
        return min(best, max(whole, self.graph.by_id[tensor].distinct))

    def _repeats(self, tensor: str) -> int:
        """How often the operator runs that makes a tensor, 1 for what comes from outside."""
        maker = self.maker.get(tensor)
        return maker.repeat if maker else 1

    def by_root(self, used: Mapping[str, int], all_turns: bool = True) -> dict[str, int]:
        """Elements used of each storage, over all turns of a loop or in one."""
        through: dict[str, dict[str, Node]] = defaultdict(dict)  # base: view operators on the way to what is used
        roots: dict[str, None] = {}
        for tensor in used:
            while (base := self.graph.by_id[tensor].alias_of) is not None:
                maker = self.maker[tensor]
                if maker.id in through[base]:
                    break
                through[base][maker.id] = maker
                tensor = base
            roots.setdefault(self.graph.root(tensor))
        ways = {base: nodes.values() for base, nodes in through.items()}
        return {root: self.coverage(root, used, ways, all_turns) for root in roots}


def _span(graph: Graph, node: Node) -> tuple[int, int, int] | None:
    """The dimension and range of indices that a slice or selection takes, if it is one."""
    if node.op not in ("slice", "select", "lax.slice") or not node.inputs:
        return None
    shape, values = graph.by_id[node.inputs[0]].shape, node.attributes
    dimension = values.get("dim", 0)
    if not isinstance(dimension, int) or values.get("step", 1) != 1:
        return None
    dimension %= len(shape)
    size = shape[dimension]
    first = values.get("index" if node.op == "select" else "start") or 0
    if not isinstance(first, int):
        return None
    first = min(size, first + size if first < 0 else first)
    length = 1 if node.op == "select" else graph.by_id[node.outputs[0]].shape[dimension]
    return dimension, first, first + length


def _disjoint(parts: list[tuple[int, int, int]]) -> int:
    """The sum over ranges that do not overlap, taken from the left."""
    total, end = 0, 0
    for first, last, elements in sorted(parts, key=lambda p: (p[1], -p[2])):
        if first >= end:
            total, end = total + elements, last
    return total
