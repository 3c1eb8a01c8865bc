"""Values that are known without data, and what need not be computed because of them.

Zeros, ones and identities that a model makes are known, and so is what they do: a product with zeros is zero, a sum
with zeros and a product with ones or an identity is the other operand, the softmax of one element is one. What becomes
zero is no work, and needs none of its operands; what becomes another tensor is that tensor, or a copy where it is an
output. NaN and infinity are not thought of: zero times anything is zero.
"""

from collections.abc import Callable, Mapping

from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.rules.once import replaced, written
from enlist.tools.solar.rules.structure import derived

_FILLED = {"zeros": 0.0, "zeros_like": 0.0, "new_zeros": 0.0, "ones": 1.0, "ones_like": 1.0, "new_ones": 1.0}
_FULL = frozenset(("full", "full_like", "new_full", "scalar_tensor"))
_KEEP = frozenset(("view", "reshape", "_unsafe_view", "expand", "unsqueeze", "squeeze", "permute", "transpose", "t",
                   "slice", "select", "clone", "contiguous", "_to_copy", "detach", "alias", "lift_fresh_copy"))
_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_TIMES, _OVER = frozenset(("mul", "multiply")), frozenset(("div", "true_divide", "divide"))
_PLUS = frozenset(("add", "sub", "subtract"))
_NO_MORE = ("zeros", "zeros_like", "ones")
_EVERY = ("softmax", "_softmax", "_safe_softmax", "log_softmax", "_log_softmax")


def tags(graph: Graph) -> dict[str, str]:
    """What `derived` says of every tensor, in order."""
    known: dict[str, str] = {t.id: t.structure for t in graph.tensors}
    for node in graph.nodes:
        for output in node.outputs[:1]:
            if known[output] == "dense":
                shapes = [graph.by_id[t].shape for t in node.inputs]
                known[output] = derived(node.op, [known[t] for t in node.inputs], node.attributes, shapes,
                                        graph.by_id[output].shape)
    return known


def values(graph: Graph) -> dict[str, float | str]:
    """By tensor, the number that all of its elements are, or "eye" for an identity matrix. Gradients are ones only
    because a loss that stands in for the true one is a sum."""
    found: dict[str, float | str] = {}
    for node in graph.nodes:
        if len(node.outputs) != 1 or node.phase != "forward":
            continue
        out, number = node.outputs[0], node.attributes.get("fill_value", node.attributes.get("s"))
        if node.op in _FILLED:
            found[out] = _FILLED[node.op]
        elif node.op in _FULL and isinstance(number, int | float):
            found[out] = float(number)
        elif node.op == "eye" and len(set(graph.by_id[out].shape)) == 1:
            found[out] = "eye"
        elif node.op in _KEEP and node.inputs[0] in found:
            value = found[node.inputs[0]]
            if value != "eye" or node.op in ("t", "clone", "_to_copy", "contiguous", "detach"):
                found[out] = value
    return found


def folded(graph: Graph, known: Mapping[str, str]) -> Graph:
    """The graph without what known values make needless; itself where they do not.

    Args:
        known: tags of tensors, as `tags` gives them.
    """
    numbers = values(graph)
    shared = written(graph)
    same: dict[str, str] = {}
    nodes: list[Node] = []
    changed = False
    for old in graph.nodes:
        inputs = tuple(same.get(t, t) for t in old.inputs)
        node = old if inputs == old.inputs else old.model_copy(update={"inputs": inputs})
        out = graph.by_id[node.outputs[0]] if len(node.outputs) == 1 and node.inputs else None
        if out is None or out.alias_of is not None or "." in node.op or node.op in _NO_MORE or graph.root(
                out.id) in shared:
            nodes.append(node)
            changed |= node is not old
            continue
        fill = _filled(graph, node, known, numbers, out)
        if fill is not None:
            changed = True
            nodes.append(node.model_copy(update={"op": fill, "inputs": (), "slots": (), "attributes": {}}))
            continue
        value = _one_key(graph, node, out)
        if value is not None:  # its weight is one, whatever the query
            changed = True
            nodes.append(node.model_copy(update={"op": "expand_copy", "inputs": (value,), "slots": ("self",),
                                                 "attributes": {}}))
            continue
        equal = _equal(graph, node, known, numbers, out)
        if equal is None:
            nodes.append(node)
            changed |= node is not old
        elif out.is_output or graph.root(equal) in shared:
            changed = True
            nodes.append(node.model_copy(update={"op": "clone", "inputs": (equal,), "slots": ("self",),
                                                 "attributes": {}}))
        else:
            changed, same[out.id] = True, equal
    return replaced(graph, nodes, same) if changed else graph


def _filled(graph: Graph, node: Node, known: Mapping[str, str], numbers: Mapping[str, float | str],
            out: Tensor) -> str | None:
    """The operator that makes a result of which every element is known, if it is one that needs no operand."""
    if known[out.id] == "zero" or (node.op in _TIMES and _number(node) == 0):
        return "zeros"
    if node.op in _TIMES and any(numbers.get(t) == 0 for t in node.inputs):
        return "zeros"
    first = graph.by_id[node.inputs[0]]
    if node.op in _EVERY and first.shape and first.shape[int(str(node.attributes.get("dim", -1)))] == 1:
        return "zeros" if "log" in node.op else "ones"
    shape = node.attributes.get("normalized_shape")
    if node.op == "layer_norm" and isinstance(shape, list) and set(shape) == {1} and len(node.inputs) == 1:
        return "zeros"
    return None


def _one_key(graph: Graph, node: Node, out: Tensor) -> str | None:
    """The value of an attention over one key."""
    if node.op != "scaled_dot_product_attention" or node.slots != ("query", "key", "value"):
        return None
    value = graph.by_id[node.inputs[2]]
    return value.id if value.shape[-2] == 1 and value.shape[:-2] == out.shape[:-2] else None


def _number(node: Node) -> float | None:
    """The number that a tensor is added to, or multiplied by."""
    value = node.attributes.get("other")
    if isinstance(value, bool) or not isinstance(value, int | float) or len(node.inputs) != 1:
        return None
    return float(value)


def _equal(graph: Graph, node: Node, known: Mapping[str, str], numbers: Mapping[str, float | str],
           out: Tensor) -> str | None:
    """The operand that a result equals, element by element."""
    if node.op in _PRODUCTS and len(node.inputs) == 2:
        left, right = node.inputs
        equal = left if numbers.get(right) == "eye" else right if numbers.get(left) == "eye" and node.op in (
            "mm", "matmul") else None
        return equal if equal is not None and _like(graph, equal, out) else None
    neutral = 0.0 if node.op in _PLUS else 1.0 if node.op in _TIMES | _OVER else None
    if node.op == "pow" and node.attributes.get("exponent") == 1 and len(node.inputs) == 1:
        return node.inputs[0] if _like(graph, node.inputs[0], out) else None
    if neutral is None:
        return None
    if _number(node) == neutral:
        return node.inputs[0] if _like(graph, node.inputs[0], out) else None
    is_neutral: Callable[[str], bool] = lambda t: numbers.get(t) == neutral or (  # noqa: E731
        neutral == 0 and known[t] == "zero")
    if len(node.inputs) == 2:
        left, right = node.inputs
        if is_neutral(right) and _like(graph, left, out):
            return left
        if is_neutral(left) and (node.op in _TIMES or node.op == "add") and _like(graph, right, out) and (
                node.attributes.get("alpha", 1) in (1, None)):
            return right
    return None


def _like(graph: Graph, tensor: str, out: Tensor) -> bool:
    """Whether a tensor can stand for another: of the same shape and dtype, and where it does not lie otherwise."""
    known = graph.by_id[tensor]
    return known.shape == out.shape and known.dtype == out.dtype
