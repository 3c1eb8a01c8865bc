"""Rules: what an operator of each front end costs, one table by operator name per file."""

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules import aten, training
from enlist.tools.solar.work import Call, Rule, Work

RULES: dict[str, Rule] = {**aten.RULES, **training.RULES}


def work(graph: Graph, node: Node) -> Work | None:
    """The cost of one execution of a node that moves data, or None where its operator is not modelled."""
    rule = RULES.get(node.op)
    if rule is None or any(graph.by_id[t].dtype.startswith("complex") for t in (*node.inputs, *node.outputs)):
        return None
    return rule(Call(graph, node))
