"""What of each result is needed by anybody: going backward from the outputs, a share of the rows.

A row is all that has the same indices but the last. Operators that work on each row alone (linear layers, norms over
the last dimension, elementwise work) hand the share on to their inputs; a slice or selection of rows makes it smaller,
and so does a product with gates of which only K of E are not zero (a mixture of experts written over all experts).
Whatever mixes rows needs all of them. A share only ever lowers a count, so that a bound stays one.
"""

from collections.abc import Mapping
from fractions import Fraction

from enlist.tools.solar.graph import Graph, Node

WHOLE_NEED = Fraction(1)
_VIEWS = frozenset(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "permute", "transpose", "t", "expand",
                    "contiguous", "clone", "_to_copy", "detach", "alias", "flatten", "unflatten", "mT"))
_ROWS = frozenset(("linear", "mm", "matmul", "bmm", "addmm"))
_OVER_LAST = frozenset(("softmax", "_softmax", "log_softmax", "_log_softmax", "layer_norm", "native_layer_norm",
                        "rms_norm", "_fused_rms_norm"))
_POINTWISE = frozenset((
    "add", "sub", "mul", "div", "relu", "gelu", "silu", "sigmoid", "tanh", "exp", "neg", "abs", "sqrt", "rsqrt", "pow",
    "leaky_relu", "hardtanh", "hardswish", "softplus", "mish", "elu", "dropout", "clamp", "erf", "where", "square"))


def needs(graph: Graph, gates: Mapping[str, Fraction]) -> dict[str, tuple[Fraction, bool]]:
    """By node, the share of its result's rows that is needed, where that is not all, and whether gates made it so: the
    weights of experts behind closed gates need not be read either.

    Args:
        gates: tensors of which only a share of the elements is not zero, with the share (`sparse`).
    """
    wanted: dict[str, Fraction] = {t.id: WHOLE_NEED for t in graph.tensors if t.is_output}
    found: dict[str, tuple[Fraction, bool]] = {}
    gated: set[str] = set()
    for node in reversed(graph.nodes):
        here = max((wanted.get(t, Fraction(0)) for t in node.outputs), default=WHOLE_NEED)
        if not here:
            here = WHOLE_NEED  # used by nobody that is known: leave it as it was written
        if here < 1:
            found[node.id] = here, bool(gated & set(node.outputs))
        for place, tensor in enumerate(node.inputs):
            share = _handed_on(graph, node, place, here, gates)
            if node.op in _ROWS and gated & set(node.outputs):
                share = here  # of the weights of experts as well
            if share < 1 and (gated & set(node.outputs) or (node.op == "mul" and gates.keys() & set(node.inputs))):
                gated.add(tensor)
            wanted[tensor] = max(wanted.get(tensor, Fraction(0)), share)
    return found


def _handed_on(graph: Graph, node: Node, place: int, here: Fraction, gates: Mapping[str, Fraction]) -> Fraction:
    """What a node needs of one input, when `here` is needed of its output."""
    source, out = graph.by_id[node.inputs[place]], graph.by_id[node.outputs[0]] if node.outputs else None
    if out is None or (len(node.outputs) != 1 and node.op not in _OVER_LAST):
        return WHOLE_NEED
    if node.op in ("slice", "select") and place == 0 and len(source.shape) >= 2:
        dim = int(node.attributes.get("dim") or 0) % len(source.shape)  # type: ignore[arg-type]
        kept = 1 if node.op == "select" else out.shape[dim]
        if dim < len(source.shape) - 1 and source.shape[dim]:
            return here * Fraction(kept, source.shape[dim])
        return here
    if node.op in _VIEWS:
        return here if source.elements == out.elements else WHOLE_NEED
    if node.op in _ROWS:
        return here if node.slots[place] in ("input", "self", "mat1") and node.op != "addmm" else WHOLE_NEED
    if node.op in _OVER_LAST:
        dims = node.attributes.get("dim", node.attributes.get("normalized_shape", [0]))
        last = dims in (-1, len(source.shape) - 1) or (isinstance(dims, list) and len(dims) == 1)
        return here if place == 0 and last else WHOLE_NEED
    if node.op in _POINTWISE and source.shape == out.shape:
        others = [gates[t] for i, t in enumerate(node.inputs) if i != place and t in gates]
        return min([here, *others]) if node.op == "mul" else here
    return WHOLE_NEED


def sparse(graph: Graph) -> dict[str, Fraction]:
    """Tensors of which only K of E elements along a dimension are not zero, with K / E: zeros into which a scatter puts
    K values, and what is only a view or a scaling of that."""
    found: dict[str, Fraction] = {}
    for node in graph.nodes:
        if not node.inputs or not node.outputs:
            continue
        first, index = graph.by_id[node.inputs[0]], node.input("index")
        if node.op == "scatter" and first.structure == "zero" and index is not None:
            dim = int(node.attributes.get("dim") or 0) % max(1, len(first.shape))  # type: ignore[arg-type]
            put = graph.by_id[index].shape
            if len(put) == len(first.shape) and put[dim] < first.shape[dim]:
                found[node.outputs[0]] = Fraction(put[dim], first.shape[dim])
        elif node.inputs[0] in found and (node.op in _VIEWS or node.op in ("mul", "div")):
            found[node.outputs[0]] = found[node.inputs[0]]
    return found
