"""Masks of positions: which products they leave."""

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.jaxpr.values import Values


def masked(graph: Graph, values: Values) -> Graph:
    return graph
