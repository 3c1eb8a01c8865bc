"""Turns of a loop that nobody waits for.

What a loop stacks, turn by turn, may be used in part only: the last position of a layer that runs in both directions is
the first one that the backward direction makes. A loop that carries a state must turn until the last position that is
used, in its own order; one whose turns do not know each other makes the positions that are used. Where the final state
is used, all turns are.
"""

from dataclasses import dataclass

from enlist.tools.solar.graph import Graph, Node, Scalar
from enlist.tools.solar.rules.folded import tags
from enlist.tools.solar.rules.narrow import asked
from enlist.tools.solar.rules.once import live, replaced
from enlist.tools.solar.rules.structure import PART

LOOP, TURNS, ORDER, APART = "loop", "turns", "order", "apart"
"""Attributes: of all operators of a loop, which one; of what renews its stack, how many positions there are, in which
order they are made ("forward", "reverse", "any"), how many of them were made before the loop."""
SEEN = "seen_turns"
"""The attribute of a loop's slice that says which positions of its operand the turns see."""


@dataclass(frozen=True)
class _Stack:
    """What one loop makes of positions first..end - 1 of its stacks, which `nodes` renew."""

    nodes: tuple[Node, ...]
    first: int
    end: int

    @property
    def node(self) -> Node:
        return self.nodes[0]

    @property
    def turns(self) -> int:
        """Turns until then."""
        total, order = int(str(self.node.attributes[TURNS])), self.node.attributes[ORDER]
        apart = int(str(self.node.attributes[APART]))
        needed = self.end - self.first if order == "any" else self.end if order == "forward" else total - self.first
        return max(0, needed - apart)

    @property
    def all_turns(self) -> int:
        return int(str(self.node.attributes[TURNS])) - int(str(self.node.attributes[APART]))


def needed_steps(graph: Graph) -> Graph:
    """The graph with loops turning as often as is needed; itself where all turns are."""
    stacks: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if TURNS in node.attributes:
            stacks.setdefault(int(str(node.attributes[LOOP])), []).append(node)
    if not stacks or any(node.phase != "forward" for node in graph.nodes):
        return graph
    ends = {node.outputs[0] for many in stacks.values() for node in many}
    boxes = asked(graph, tags(graph), ends)
    fewer: dict[int, _Stack] = {}
    for loop, many in stacks.items():
        spans = [boxes[n.outputs[0]][0] for n in many if n.outputs[0] in boxes]
        if not spans or _final_state(graph, loop, ends):
            continue
        stack = _Stack(tuple(many), min(s[0] for s in spans), max(s[1] for s in spans))
        if stack.turns < stack.all_turns:
            fewer[loop] = stack
    return _turned(graph, fewer) if fewer else graph


def _final_state(graph: Graph, loop: int, ends: set[str]) -> bool:
    """Whether something outside of a loop uses what is made in it, but for its stack."""
    inside = {t for n in graph.nodes if n.attributes.get(LOOP) == loop for t in n.outputs} - ends
    return any(graph.by_id[t].is_output for t in inside) or any(
        t in inside for n in graph.nodes if n.attributes.get(LOOP) != loop for t in n.inputs)


def _turned(graph: Graph, fewer: dict[int, _Stack]) -> Graph:
    same: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        stack = fewer.get(int(str(node.attributes.get(LOOP, -1))))
        if stack is None or node.repeat % stack.all_turns:
            nodes.append(_over(node, same))
        elif stack.turns:
            attributes = dict(node.attributes) | {PART: "turns that nobody waits for are left out"}
            if node.op == "loop_slice":
                attributes[SEEN] = _seen(stack)
            nodes.append(_over(node, same).model_copy(update={
                "repeat": node.repeat // stack.all_turns * stack.turns, "attributes": attributes}))
        elif node in stack.nodes:  # what was made before the loop is all
            same[node.outputs[0]] = same.get(node.inputs[0], node.inputs[0])
    kept = {t for n in nodes for t in n.outputs}
    gone = {t for n in graph.nodes for t in n.outputs} - kept - set(same)
    made = replaced(graph, nodes, same)
    made = made.model_copy(update={"tensors": tuple(t for t in made.tensors if t.id not in gone)})
    return live(made, graph)


def _over(node: Node, same: dict[str, str]) -> Node:
    inputs = tuple(same.get(t, t) for t in node.inputs)
    return node if inputs == node.inputs else node.model_copy(update={"inputs": inputs})


def _seen(stack: _Stack) -> list[Scalar]:
    """The positions of a loop's operand that its turns see."""
    order, count = stack.node.attributes[ORDER], stack.turns
    if order == "any":
        return [stack.first, stack.end]
    return [0, count] if order == "forward" else [stack.all_turns - count, stack.all_turns]
