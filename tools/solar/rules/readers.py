"""Which part of a product is looked at: going forward from it to all of its readers.

A product that is used only through a triangle (`triu`, `tril`, a mask of attention) needs only that triangle.
"""

from collections.abc import Iterable, Mapping

from enlist.tools.solar.graph import Graph, Node

_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_VIEWS = frozenset(("view", "reshape", "expand", "unsqueeze", "squeeze", "slice", "_reshape_alias", "select",
                    "_unsafe_view"))
_CHAIN = frozenset(("mul", "div", "add", "sub", "neg", "_to_copy", "clone", "where"))


def needed_parts(graph: Graph, known: Mapping[str, str]) -> dict[str, str]:
    """By product, the part of its output that all of its readers look at: a triangle, or "band:kept/all".

    Args:
        known: tags of tensors, as `structure.derived` gives them.
    """
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for tensor in node.inputs:
            readers.setdefault(tensor, []).append(node)
    found = {}
    for node in graph.nodes:
        if node.op in _PRODUCTS and not graph.by_id[node.outputs[0]].is_output:
            triangle = _looked_at(graph, known, readers, node.outputs[0], 0)
            if triangle:
                found[node.id] = triangle
    return found


def _looked_at(graph: Graph, known: Mapping[str, str], readers: Mapping[str, list[Node]], tensor: str,
               depth: int) -> str:
    if depth > 8 or graph.by_id[tensor].is_output or not readers.get(tensor):
        return ""
    return _agreed(_by_reader(graph, known, readers, tensor, node, depth) for node in readers[tensor])


def _by_reader(graph: Graph, known: Mapping[str, str], readers: Mapping[str, list[Node]], tensor: str, node: Node,
               depth: int) -> str:
    if node.op in ("triu", "tril") and not node.attributes.get("diagonal"):
        return "upper" if node.op == "triu" else "lower"
    if node.op == "trace" or (node.op == "diagonal" and _last_two(graph, node)):
        return "diagonal"
    output = node.outputs[0]
    hides = node.op in ("where", "add") or (node.op == "masked_fill" and node.inputs[0] == tensor)
    if hides and known[output].startswith("masked ") and not known[tensor].startswith("masked "):
        return known[output].removeprefix("masked ")
    if node.op in ("mul", "multiply"):
        other = next((known[t] for t in node.inputs if t != tensor), "dense")
        if other in ("upper", "lower"):
            return other
    same = graph.by_id[output].shape[-2:] == graph.by_id[tensor].shape[-2:]
    if same and (node.op in _CHAIN or node.op in _VIEWS):
        return _looked_at(graph, known, readers, output, depth + 1)
    return ""


def _last_two(graph: Graph, node: Node) -> bool:
    """Whether a diagonal is the main one of the last two dimensions."""
    count, values = len(graph.by_id[node.inputs[0]].shape), node.attributes
    dims = {int(str(values.get("dim1", 0) or 0)) % count, int(str(values.get("dim2", 1) or 0)) % count}
    return not values.get("offset") and dims == {count - 1, count - 2}


def _agreed(answers: Iterable[str]) -> str:
    every = set(answers)
    return every.pop() if len(every) == 1 else ""
