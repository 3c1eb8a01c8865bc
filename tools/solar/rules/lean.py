"""A graph without what an implementation of the stated class may leave out.

In this order: turns of loops that nobody waits for (`steps`), what is computed again (`once`), what known values make
needless (`folded`), what nobody uses of a result or is known to be zero in a sum of products (`narrow`), what follows
from no data and can be had before any call (`marks`). Values are still computed by the operators that define them: no
law of algebra puts one expression in the place of another.
"""

from collections import Counter

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.rules.folded import folded, tags
from enlist.tools.solar.rules.marks import marked
from enlist.tools.solar.rules.movement import MADE
from enlist.tools.solar.rules.narrow import narrow
from enlist.tools.solar.rules.once import live, once
from enlist.tools.solar.rules.steps import needed_steps
from enlist.tools.solar.rules.support import supports

_MOST = 4

LEFT_OUT = "left out of the bounds, as computed again, known without data or used by nobody: "
"""How the sentence begins that names operators which a graph had before."""


def lean(graph: Graph) -> Graph:
    """The graph that lower bounds speak of, with a sentence on what was left out; itself where nothing can be."""
    made = _lean(graph)
    gone = _operators(graph) - _operators(made) if made is not graph else Counter()
    if not gone:
        return made
    words = ", ".join(f"{n} {op}" for op, n in sorted(gone.items()))
    return made.model_copy(update={"assumed": (*made.assumed, LEFT_OUT + words)})


def _operators(graph: Graph) -> Counter[str]:
    return Counter(n.op for n in graph.nodes if n.op not in MADE and any(
        graph.by_id[t].alias_of is None for t in n.outputs))


def _lean(graph: Graph) -> Graph:
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
    made = narrow(graph, known, found)
    return marked(made, {t: part for t, part in found.items() if t in made.by_id and t in graph.by_id
                         and made.by_id[t].shape == graph.by_id[t].shape})
