"""A graph without what an implementation of the stated class may leave out.

In this order: turns of loops that nobody waits for (`steps`), what is computed again (`once`), what known values make
needless (`folded`), what nobody uses of a result or is known to be zero in a sum of products (`narrow`), what follows
from no data and can be had before any call (`marks`). Values are still computed by the operators that define them: no
law of algebra puts one expression in the place of another.
"""

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.rules.folded import folded, tags
from enlist.tools.solar.rules.marks import marked
from enlist.tools.solar.rules.narrow import narrow
from enlist.tools.solar.rules.once import live, once
from enlist.tools.solar.rules.steps import needed_steps
from enlist.tools.solar.rules.support import supports

_MOST = 4


def lean(graph: Graph) -> Graph:
    """The graph that lower bounds speak of; itself where nothing can be left out."""
    graph = needed_steps(graph)
    before = graph
    graph = once(graph)
    for _ in range(_MOST):  # what was folded may fold what it goes into
        less = folded(graph, tags(graph))
        if less is graph:
            break
        graph = less
    graph = live(graph, before) if graph is not before else graph
    if any(node.phase != "forward" for node in graph.nodes):
        return graph
    known = tags(graph)
    found = supports(graph, known)
    return marked(narrow(graph, known, found), found)
