"""A graph without what an implementation of the stated class may leave out.

In this order: what is computed again is computed once (`once`), what known values make needless goes (`folded`), what
nobody uses of a result, or is known to be zero in a sum of products, goes (`narrow`). Values are still computed by the
operators that define them: no law of algebra puts one expression in the place of another.
"""

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.rules.folded import folded, tags
from enlist.tools.solar.rules.narrow import narrow
from enlist.tools.solar.rules.once import live, once
from enlist.tools.solar.rules.support import supports


def lean(graph: Graph) -> Graph:
    """The graph that lower bounds speak of; itself where nothing can be left out."""
    before = graph
    graph = once(graph)
    graph = folded(graph, tags(graph))
    graph = live(graph, before) if graph is not before else graph
    if any(node.phase != "forward" for node in graph.nodes):
        return graph
    known = tags(graph)
    return narrow(graph, known, supports(graph, known))
