"""What of each result is needed by anybody: going backward from the outputs, a share of the rows.

A row is all that has the same indices but the last. Operators that work on each row alone (linear layers, norms over
the last dimension, elementwise work) hand the share on to their inputs; a slice or selection of rows makes it smaller,
and so does a product with gates of which only K of E are not zero (a mixture of experts written over all experts, or
one expert after the other with a mask of the tokens that chose it: over all experts, K of E on average, and over some
of them what the others are too few for).
Whatever mixes rows needs all of them. A share only ever lowers a count, so that a bound stays one.
"""

from collections.abc import Mapping
from fractions import Fraction

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.asks import number
from enlist.tools.solar.rules.regions import Box, covered, through

WHOLE_NEED = Fraction(1)
_VIEWS = frozenset(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "permute", "transpose", "t", "expand",
                    "contiguous", "clone", "_to_copy", "detach", "alias", "flatten", "unflatten", "mT"))
_ROWS = frozenset(("linear", "mm", "matmul", "bmm", "addmm"))
_OVER_LAST = frozenset(("softmax", "_softmax", "log_softmax", "_log_softmax", "layer_norm", "native_layer_norm",
                        "rms_norm", "_fused_rms_norm"))
_POINTWISE = frozenset((
    "add", "sub", "mul", "div", "relu", "gelu", "silu", "sigmoid", "tanh", "exp", "neg", "abs", "sqrt", "rsqrt", "pow",
    "leaky_relu", "hardtanh", "hardswish", "softplus", "mish", "elu", "dropout", "clamp", "erf", "where", "square",
    "masked_fill"))


_CLOSING = ("mul", "where", "masked_fill")
"""Operators whose result is zero where a gate is closed."""


def needs(graph: Graph, gates: Mapping[str, Fraction]) -> dict[str, tuple[Fraction, bool]]:
    """By node, the share of its result's rows that is needed, where that is not all, and whether gates made it so: the
    weights of experts behind closed gates need not be read either.

    Args:
        gates: tensors of which only a share of the elements is not zero, with the share (`sparse`).
    """
    wanted: dict[str, list[Box]] = {t.id: [Box()] for t in graph.tensors if t.is_output}
    found: dict[str, tuple[Fraction, bool]] = {}
    gated: set[str] = set()
    for node in reversed(graph.nodes):
        asked = {t: wanted[t] for t in node.outputs if t in wanted}
        here = max((covered(graph.by_id[t].shape, boxes) for t, boxes in asked.items()), default=WHOLE_NEED)
        if not here and not gated & set(node.outputs):
            here = WHOLE_NEED  # nothing of it, as far as is known: leave it as it was written
        if here < 1:
            found[node.id] = here, bool(gated & set(node.outputs))
        for place, tensor in enumerate(node.inputs):
            shape = graph.by_id[tensor].shape
            if node.op in ("slice", "select") and len(shape) >= 2 and asked:
                boxes = through(node, shape, graph.by_id[node.outputs[0]].shape, asked[node.outputs[0]])
                wanted.setdefault(tensor, []).extend(boxes)
                if covered(shape, boxes) < 1 and gated & set(node.outputs):
                    gated.add(tensor)
                continue
            share = _handed_on(graph, node, place, here, gates)
            if node.op in _ROWS and gated & set(node.outputs):
                share = here  # of the weights of experts as well
            if share < 1 and (gated & set(node.outputs) or (node.op in _CLOSING and gates.keys() & set(node.inputs))):
                gated.add(tensor)
            wanted.setdefault(tensor, []).append(Box(share=share))
    return found


def _handed_on(graph: Graph, node: Node, place: int, here: Fraction, gates: Mapping[str, Fraction]) -> Fraction:
    """What a node needs of one input, when `here` is needed of its output."""
    source, out = graph.by_id[node.inputs[place]], graph.by_id[node.outputs[0]] if node.outputs else None
    if out is None or (len(node.outputs) != 1 and node.op not in _OVER_LAST):
        return WHOLE_NEED
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
        closes = node.op == "mul" or (node.op == "where" and node.slots[place] == "self"
                                      and node.attributes.get("other") == 0) or (
            node.op == "masked_fill" and place == 0 and node.attributes.get("value") == 0)
        return min([here, *others]) if closes else here
    return WHOLE_NEED


def sparse(graph: Graph) -> dict[str, Fraction]:
    """Tensors of which only a share of the elements is not zero: zeros into which a scatter puts K of E values along a
    dimension, comparisons of the choices of `topk` with the number of one of E experts (each is chosen one time in E on
    average), and what is only a view, a scaling or a sum of that."""
    found: dict[str, Fraction] = {}
    closed: dict[str, Fraction] = {}  # true where a gate is closed, with the share that is open
    counted: set[str] = set()  # the numbers of experts in turn
    choices: dict[str, tuple[int, str]] = {}  # by tensor of choices, among how many, and the choices that it is
    tried = _tried(graph)
    for node in graph.nodes:
        if node.op == "arange" or (counted & set(node.inputs) and node.op in _VIEWS):
            counted.update(node.outputs)
        if not node.inputs or not node.outputs:
            continue
        first, out = graph.by_id[node.inputs[0]], node.outputs[0]
        if node.op == "topk":
            size = first.shape[number(node, "dim", -1)] if first.shape else 1
            choices.update((t, (size, t)) for t in node.outputs if graph.by_id[t].dtype == "int64")
        elif node.inputs[0] in choices and (node.op in _VIEWS or node.op in ("select", "slice")):
            size, root = choices[node.inputs[0]]
            choices[out] = (size, root if node.op in _VIEWS else out)
        elif node.op == "eq" and node.inputs[0] in choices and (
                isinstance(node.attributes.get("other"), int) or set(node.inputs[1:]) & counted):
            size, root = choices[node.inputs[0]]
            found[out] = _least_share(size, tried[root] if set(node.inputs[1:]) <= counted and len(node.inputs) == 1
                                      else None, graph.by_id[root].shape[-1:])
        elif node.op == "scatter" and (share := _scattered(graph, node)) is not None:
            found[out] = share
        elif node.op in ("sum", "any", "amax") and node.inputs[0] in found:
            found[out] = min(WHOLE_NEED, found[node.inputs[0]] * (first.elements // max(1, graph.by_id[out].elements)))
        elif node.op in ("logical_not", "bitwise_not") and node.inputs[0] in found:
            closed[out] = found[node.inputs[0]]
        elif node.op == "mul" and (shares := [found[t] for t in node.inputs if t in found]):
            found[out] = min(shares)
        elif node.inputs[0] in found and (node.op in _VIEWS or node.op in ("div", "ne", "gt", "select")):
            found[out] = found[node.inputs[0]]
        elif node.inputs[0] in closed and node.op in _VIEWS:
            closed[out] = closed[node.inputs[0]]
    return found | closed


def _tried(graph: Graph) -> dict[str, set[int]]:
    """By tensor of choices, the numbers that are compared with it or with a view of it."""
    base: dict[str, str] = {}
    found: dict[str, set[int]] = {}
    for node in graph.nodes:
        root = base.get(node.inputs[0], node.inputs[0]) if node.inputs else ""
        if node.op in _VIEWS and node.outputs:
            base[node.outputs[0]] = root
        number = node.attributes.get("other")
        found.setdefault(root, set())
        if node.op == "eq" and isinstance(number, int):
            found[root].add(number)
    return found


def _least_share(experts: int, tried: set[int] | None, chosen: tuple[int, ...]) -> Fraction:
    """The least share of choices that fall on each of the experts that are tried: all of them get every choice; of
    some, a token with K choices must take what the others are too few for."""
    if tried is None:
        return Fraction(1, max(1, experts))
    count, among = chosen[0] if chosen else 1, len(tried & set(range(experts)))
    return Fraction(max(0, count - (experts - among)), max(1, among * count))


def _scattered(graph: Graph, node: Node) -> Fraction | None:
    """The share of zeros that a scatter overwrites, where it is less than one."""
    first, index = graph.by_id[node.inputs[0]], node.input("index")
    dim = number(node, "dim", 0) % max(1, len(first.shape))
    put = graph.by_id[index].shape if index is not None else ()
    known = first.structure == "zero" and len(put) == len(first.shape) and put[dim] < first.shape[dim]
    return Fraction(put[dim], first.shape[dim]) if known else None
