"""What is computed again, computed once: equal operators of equal operands, and what no turn of a loop changes.

Operators are taken by value numbering, in order; those that draw random numbers, write in place or come from an unknown
library stay as they are. Of an output that repeats another one only a copy is left, for both must be written. An
operator inside a loop whose operands are all made outside need not run again in each turn.
"""

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.gathering import IN_PLACE
from enlist.tools.solar.rules.seen import TURNS, turned
from enlist.tools.solar.rules.structure import PART

DRAWN = ("rand", "bernoulli", "normal", "uniform", "exponential", "multinomial", "poisson", "binomial", "dropout",
         "native_dropout", "_fused_dropout", "rrelu", "log_normal", "cauchy", "geometric", "empty", "new_empty",
         "fractional", "alpha_dropout", "feature_")
"""How the names of operators begin whose results differ from call to call."""
_TURNING = frozenset(("as_strided", "loop_slice", "loop_stack"))
_COMMUTE = frozenset(("add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or"))


def written(graph: Graph) -> set[str]:
    """Storages that some operator writes into after they were made, or that turns of a loop share."""
    return {graph.root(t) for node in graph.nodes if node.op in IN_PLACE or node.op in ("loop_stack", "as_strided")
            for t in (*node.inputs[:1], *node.outputs)}


def once(graph: Graph) -> Graph:
    """The graph without repetitions; itself where it has none."""
    shared = written(graph)
    same: dict[str, str] = {}  # tensor: an earlier one that equals it
    turns: dict[str, int] = {}
    first: dict[tuple[object, ...], Node] = {}
    nodes: list[Node] = []
    changed = False
    for old in graph.nodes:
        inputs = tuple(same.get(t, t) for t in old.inputs)
        node = old if inputs == old.inputs else old.model_copy(update={"inputs": inputs})
        pure = "." not in node.op and "::" not in node.op and node.op not in IN_PLACE and node.op not in _TURNING and \
            not node.op.startswith(DRAWN)
        if pure and node.repeat > 1:
            least = min(node.repeat, max((turns.get(t, 1) for t in inputs), default=1))
            node = node if least == node.repeat else node.model_copy(update={
                "repeat": least, "attributes": node.attributes | {PART: "no turn of the loop changes it"}})
        turns.update(dict.fromkeys(node.outputs, node.repeat))
        twin = None
        if pure and not any(graph.root(t) in shared for t in node.outputs):
            twin = first.setdefault(_signature(graph, node), node)
        if twin is None or twin is node:
            changed |= node is not old
            nodes.append(node)
            continue
        changed = True
        for mine, other in zip(node.outputs, twin.outputs, strict=True):
            tensor = graph.by_id[mine]
            if not tensor.is_output:
                same[mine] = other
            elif tensor.alias_of is None:
                nodes.append(node.model_copy(update={"id": mine, "op": "clone", "inputs": (other,), "slots": ("self",),
                                                     "outputs": (mine,), "attributes": {}}))
            else:  # a view that is returned moves nothing
                nodes.append(node)
    return replaced(graph, nodes, same) if changed else graph


def _signature(graph: Graph, node: Node) -> tuple[object, ...]:
    made = tuple((t.shape, t.strides, t.dtype) for t in (graph.by_id[o] for o in node.outputs))
    operands = tuple(zip(node.inputs, node.slots, strict=True))
    if node.op in _COMMUTE and not node.attributes and len({graph.by_id[t].shape for t in node.inputs}) == 1:
        operands = tuple((t, "") for t in sorted(node.inputs))
    if node.op in TURNS:  # however it is written
        order = turned(node, len(graph.by_id[node.inputs[0]].shape))
        return "turned", tuple(order), node.inputs, node.repeat, node.phase, made
    return node.op, operands, repr(sorted(node.attributes.items())), node.repeat, node.phase, made


def replaced(graph: Graph, nodes: list[Node], same: dict[str, str]) -> Graph:
    """The graph with these nodes, without the tensors that others stand for."""
    tensors = tuple(t if t.alias_of not in same else t.model_copy(update={"alias_of": same[t.alias_of]})
                    for t in graph.tensors if t.id not in same)
    return graph.model_copy(update={"tensors": tensors, "nodes": tuple(nodes)})


def live(graph: Graph, before: Graph) -> Graph:
    """The graph without operators that were read in `before` and are read by nobody now. What nobody read before is
    what a loop hands to its next turn, and stays."""
    read_then = {t for node in before.nodes for t in node.inputs} | {t.alias_of for t in before.tensors}
    made_then = {t for node in before.nodes for t in node.outputs}
    kept, wanted = [], {t.id for t in graph.tensors if t.is_output}
    kept_outputs: set[str] = set()
    bases = {t.id: t.alias_of for t in graph.tensors}
    shared = written(graph)
    for node in reversed(graph.nodes):
        handed = any(t in made_then and t not in read_then for t in node.outputs)
        if handed or any(t in wanted or graph.root(t) in shared for t in node.outputs):
            kept.append(node)
            kept_outputs.update(node.outputs)
            for tensor in (*node.inputs, *node.outputs):
                step: str | None = tensor
                while step is not None and (step not in wanted or step == tensor):
                    wanted.add(step)
                    step = bases[step]
    if len(kept) == len(graph.nodes):
        return graph
    gone = {t for node in graph.nodes for t in node.outputs} - kept_outputs
    return graph.model_copy(update={"tensors": tuple(t for t in graph.tensors if t.id not in gone),
                                    "nodes": tuple(reversed(kept))})


