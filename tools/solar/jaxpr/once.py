"""What a JAX function computes again, computed once: equal equations of equal operands, and what no turn changes.

An implementation may keep what it has (XLA does: common subexpressions, loop-invariant code). JAX has no side effects,
so that the same primitive of the same operands has the same result, random numbers from the same key too; callbacks
and kernels from outside stay, and so do updates in place and what hands values from turn to turn.
"""

from collections import Counter
from collections.abc import Iterable

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.jaxpr.rules import IN_PLACE, RULES
from enlist.tools.solar.rules.lean import LEFT_OUT
from enlist.tools.solar.rules.once import replaced

_TURNING = frozenset(("lax.carry", "loop_slice", "lax.stack", "lax.written", "lax.shard", "lax.copy"))
_VIEWS = frozenset(f"lax.{n}" for n in ("reshape", "squeeze", "expand_dims", "broadcast_in_dim", "transpose", "slice",
                                        "dynamic_slice", "stop_gradient", "bitcast_convert_type"))


def once(graph: Graph) -> Graph:
    """The graph without repetitions; itself where it has none."""
    made_by = {t for node in graph.nodes for t in node.outputs}
    handed = {t.id for t in graph.tensors if t.id not in made_by and t.role in ("intermediate", "output")}
    same: dict[str, str] = {}
    turns: dict[str, int] = {}
    first: dict[tuple[object, ...], Node] = {}
    nodes: list[Node] = []
    for old in graph.nodes:
        node = old.model_copy(update={"inputs": tuple(same.get(t, t) for t in old.inputs)}) if any(
            t in same for t in old.inputs) else old
        pure = node.op in RULES.keys() | _VIEWS and node.op not in IN_PLACE | _TURNING
        if pure and node.repeat > 1 and not any(t in handed for t in node.inputs):
            least = min(node.repeat, max((turns.get(t, 1) for t in node.inputs), default=1))
            node = node if least == node.repeat else node.model_copy(update={"repeat": least})
        turns.update(dict.fromkeys(node.outputs, node.repeat))
        twin = first.setdefault(_signature(graph, node), node) if pure else node
        if twin is node or any(graph.by_id[t].is_output and graph.by_id[t].alias_of for t in node.outputs):
            nodes.append(node)  # a view that is returned moves nothing
            continue
        for mine, other in zip(node.outputs, twin.outputs, strict=True):
            if graph.by_id[mine].is_output:  # both must be written
                nodes.append(Node(id=f"{node.id}.{mine}", op="lax.copy", where=node.where, inputs=(other,),
                                  slots=("0",), outputs=(mine,), attributes={}, repeat=node.repeat))
            else:
                same[mine] = other
    if nodes == list(graph.nodes):
        return graph
    runs = _runs(graph.nodes) - _runs(nodes)
    told = (LEFT_OUT + ", ".join(f"{n} {op}" for op, n in sorted(runs.items())),) if runs else ()
    made = replaced(graph, nodes, same)
    return made.model_copy(update={"assumed": (*made.assumed, *told)})


def _runs(nodes: Iterable[Node]) -> Counter[str]:
    """How often each operator runs that is no view."""
    runs: Counter[str] = Counter()
    for node in nodes:
        if node.op not in _VIEWS:
            runs[node.op] += node.repeat
    return runs


def _signature(graph: Graph, node: Node) -> tuple[object, ...]:
    made = tuple((t.shape, t.strides, t.dtype) for t in (graph.by_id[o] for o in node.outputs))
    return (node.op, node.inputs, node.slots, repr(sorted(node.attributes.items())), node.repeat, made)
