"""Structure of tensors: which elements are known to be zero, and which are needed by nobody.

`derived` says what an operator makes of the structure of its operands; it serves a whole graph (`propagate`) and the
construction of example inputs alike. Beyond what a tensor's `structure` can say there are tags of masks: "not lower" is
true strictly above the diagonal (`tril(ones) == 0`), "masked lower" is minus infinity there, so that its softmax is
"lower". Going backward, a product that is used only through a triangle needs only that triangle ("needed").
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from enlist.tools.solar.graph import Graph, Node, Structure
from enlist.tools.solar.rules.masks import Positions
from enlist.tools.solar.rules.needs import needs, sparse

STRUCTURES = frozenset(get_args(Structure)) - {"dense"}
NEEDED = "needed"
"""The attribute of a product that says which triangle of its output is needed."""
VISIBLE = "visible"
"""The attribute of an attention that says how many elements its mask lets through."""
ROWS = "needed_rows"
"""The attribute of an operator that says which share of its result's rows is needed, as [numerator, denominator, by
gates]."""
BORDER = "border"
"""The attribute of a convolution that says how many zeros a pad operator put around its input: (before, after) by
spatial dimension."""

_SWAPPED = {"upper": "lower", "lower": "upper"}
_SAME = frozenset((
    "clone", "contiguous", "_to_copy", "to", "detach", "alias", "lift_fresh", "lift_fresh_copy", "positive", "copy",
    "_unsafe_view", "relu", "neg", "abs", "sign", "sqrt", "square", "sin", "tanh", "floor", "trunc", "round", "erf",
    "leaky_relu", "silu", "dropout", "div", "true_divide"))
"""Operators that keep zeros, by their first operand."""
_VIEWS = frozenset(("view", "reshape", "expand", "unsqueeze", "squeeze", "slice", "_reshape_alias", "select"))
_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_MADE_EQUAL = frozenset(("ones", "full", "ones_like", "full_like", "new_ones", "new_full"))


def derived(op: str, tags: Sequence[str], attributes: Mapping[str, Any], shapes: Sequence[Sequence[int]],
            out: Sequence[int]) -> str:
    """The tag of an operator's output: a structure, a tag of a mask, or "dense".

    Args:
        tags, shapes: of the tensor operands, in order.
        out: the shape of the output.
    """
    first = tags[0] if tags else "dense"
    if op in ("zeros", "zeros_like", "new_zeros") or (op in _MADE_EQUAL and attributes.get("fill_value") == 0):
        return "zero"
    if op in _MADE_EQUAL:
        return "constant"
    if op == "eye":
        return "diagonal"
    if op in ("triu", "tril"):
        return _triangle(op, first, int(attributes.get("diagonal") or 0))
    if op == "diag_embed":
        return "diagonal" if not attributes.get("offset") else "dense"
    if op in ("t", "transpose", "permute", "mT", "numpy_T") and _swaps(op, attributes, len(out)):
        return _SWAPPED.get(first, first)
    if op in _VIEWS or op in ("transpose", "permute"):
        same = bool(shapes) and tuple(shapes[0][-2:]) == tuple(out[-2:]) and len(out) >= 2
        top_left = op == "slice" and len(out) >= 2 and not attributes.get("start")  # leading rows and columns
        return first if same or top_left or first in ("zero", "constant") else "dense"
    if op in ("mul", "multiply", "bitwise_and", "logical_and"):
        return _product_of_patterns(tags)
    if op in ("add", "sub"):
        return first if len(tags) == 2 and tags[0] == tags[1] and first in ("upper", "lower", "diagonal", "zero") else (
            "dense")
    if op in _PRODUCTS and len(tags) >= 2:
        second = _SWAPPED.get(tags[1], tags[1]) if op == "linear" else tags[1]
        return _matrix_product(first, second)
    return _of_masks(op, first, tags, attributes) or (first if op in _SAME and first in STRUCTURES else "dense")


def _triangle(op: str, first: str, diagonal: int) -> str:
    kept = "upper" if op == "triu" else "lower"
    if first in ("zero", "diagonal") and diagonal == 0:
        return first
    if first == _SWAPPED[kept] and diagonal == 0:
        return "diagonal"
    if (op == "triu" and diagonal == 1) and first == "constant":
        return "not lower"
    if (op == "tril" and diagonal == -1) and first == "constant":
        return "not upper"
    inside = diagonal >= 0 if op == "triu" else diagonal <= 0
    return kept if inside else "dense"


def _swaps(op: str, attributes: Mapping[str, Any], dims: int) -> bool:
    """Whether the last two dimensions change places and no other."""
    if op in ("t", "mT", "numpy_T"):
        return dims == 2 or op == "mT"
    if op == "permute":
        order = [int(d) % dims for d in attributes.get("dims") or ()]
        return order[:-2] == list(range(dims - 2)) and order[-2:] == [dims - 1, dims - 2]
    pair = {int(attributes.get(name, 0)) % max(1, dims) for name in ("dim0", "dim1")}
    return pair == {dims - 1, dims - 2}


def _product_of_patterns(tags: Sequence[str]) -> str:
    known = {t for t in tags if t in STRUCTURES and t != "constant"}
    if "zero" in known:
        return "zero"
    if "diagonal" in known or {"upper", "lower"} <= known:
        return "diagonal"
    return next(iter(known), "constant" if tags and all(t == "constant" for t in tags) else "dense")


def _matrix_product(left: str, right: str) -> str:
    if "zero" in (left, right):
        return "zero"
    if left == "diagonal":
        return right if right in ("upper", "lower", "diagonal") else "dense"
    if right == "diagonal":
        return left if left in ("upper", "lower") else "dense"
    return left if left == right and left in ("upper", "lower") else "dense"


def _of_masks(op: str, first: str, tags: Sequence[str], attributes: Mapping[str, Any]) -> str:
    """Tags of masks and of what they mask; "" where the operator has nothing to do with them."""
    value = attributes.get("other", attributes.get("value"))
    if op == "eq" and value == 0 and first in ("lower", "upper"):
        return f"not {first}"
    if op in ("logical_not", "bitwise_not") and first in ("lower", "upper"):
        return f"not {first}"
    if op == "masked_fill" and len(tags) > 1 and tags[1].startswith("not ") and value == "-inf":
        return f"masked {tags[1].removeprefix('not ')}"
    if op == "masked_fill" and len(tags) > 1 and tags[1].startswith("not ") and value == 0:
        return tags[1].removeprefix("not ")
    if op in ("_to_copy", "to", "ne", "gt") and first in ("not lower", "not upper"):
        return first
    if op in ("softmax", "_softmax", "_safe_softmax") and first.startswith("masked "):
        return first.removeprefix("masked ")
    if first.startswith("masked ") and op in ("div", "mul", "clone", "_to_copy", "contiguous"):
        return first
    return ""


def propagate(graph: Graph) -> Graph:
    """The graph with the structure of every tensor that follows from others, and products marked with what of them is
    needed. A graph in which nothing has structure is returned as it is."""
    tags = {t.id: t.structure for t in graph.tensors}
    known: dict[str, str] = dict(tags)
    sources: dict[str, str] = {t.id: t.structure_from for t in graph.tensors}
    for node in graph.nodes:
        for output in node.outputs[:1]:
            shapes = [graph.by_id[t].shape for t in node.inputs]
            tag = derived(node.op, [known[t] for t in node.inputs], node.attributes, shapes, graph.by_id[output].shape)
            if tag != "dense" and known[output] == "dense":
                known[output] = tag
                reasons = dict.fromkeys(filter(None, (sources.get(t, "") for t in node.inputs)))
                sources[output] = "; ".join(reasons) or node.op
    marks: dict[str, dict[str, Any]] = {name: {NEEDED: triangle} for name, triangle in _needed(graph, known).items()}
    for name, border in _borders(graph).items():
        marks.setdefault(name, {})[BORDER] = border
    for name, pairs_seen in _visible(graph).items():
        marks.setdefault(name, {})[VISIBLE] = pairs_seen
    if known == tags and not marks:
        return _with_needs(graph)
    tensors = tuple(t.model_copy(update={"structure": known[t.id], "structure_from": sources[t.id]})
                    if known[t.id] != t.structure and known[t.id] in STRUCTURES else t for t in graph.tensors)
    nodes = tuple(n.model_copy(update={"attributes": n.attributes | marks[n.id]}) if n.id in marks else n
                  for n in graph.nodes)
    return _with_needs(graph.model_copy(update={"tensors": tensors, "nodes": nodes}))


def _with_needs(graph: Graph) -> Graph:
    """Operators marked with the share of their rows that is needed."""
    shares = needs(graph, sparse(graph)) if all(n.phase == "forward" for n in graph.nodes) else {}
    if not shares:
        return graph
    marked = {name: [*share.as_integer_ratio(), gated] for name, (share, gated) in shares.items()}
    return graph.model_copy(update={"nodes": tuple(
        n.model_copy(update={"attributes": n.attributes | {ROWS: marked[n.id]}}) if n.id in marked else n
        for n in graph.nodes)})


def _visible(graph: Graph) -> dict[str, int]:
    """By attention with a mask that follows from positions, the pairs (query, key) that the mask lets through."""
    masked = [n for n in graph.nodes if n.op == "scaled_dot_product_attention" and n.input("attn_mask")]
    positions = Positions(graph) if masked else None
    found = {}
    for node in masked:
        count = positions.count(str(node.input("attn_mask"))) if positions else None
        if count is not None:
            found[node.id] = count
    return found


def _borders(graph: Graph) -> dict[str, list[list[int]]]:
    """By convolution, the zeros around its input that a pad operator made."""
    makers = {t: node for node in graph.nodes for t in node.outputs if node.op in ("constant_pad_nd", "pad")}
    found = {}
    for node in graph.nodes:
        maker = makers.get(node.inputs[0]) if "conv" in node.op and node.inputs else None
        pads = maker.attributes.get("pad") if maker else None
        if maker is None or not isinstance(pads, list) or maker.attributes.get("value", 0) not in (0, 0.0, None):
            continue
        count = len(graph.by_id[node.inputs[0]].shape) - 2
        wide = [int(n) for n in pads if isinstance(n, int)] + [0] * (2 * count - len(pads))
        if count > 0 and len(wide) == 2 * count and min(wide) >= 0:
            found[node.id] = [[wide[2 * d], wide[2 * d + 1]] for d in reversed(range(count))]
    return found


_CHAIN = frozenset(("mul", "div", "add", "sub", "neg", "_to_copy", "clone", "where"))


def _needed(graph: Graph, known: Mapping[str, str]) -> dict[str, str]:
    """By product, the triangle of its output that all of its readers look at."""
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
    output = node.outputs[0]
    if node.op == "masked_fill" and known[output].startswith("masked ") and node.inputs[0] == tensor:
        return known[output].removeprefix("masked ")
    if node.op in ("mul", "multiply"):
        other = next((known[t] for t in node.inputs if t != tensor), "dense")
        if other in ("upper", "lower"):
            return other
    same = graph.by_id[output].shape[-2:] == graph.by_id[tensor].shape[-2:]
    if same and (node.op in _CHAIN or node.op in _VIEWS):
        return _looked_at(graph, known, readers, output, depth + 1)
    return ""


def _agreed(answers: Iterable[str]) -> str:
    every = set(answers)
    return every.pop() if len(every) == 1 else ""


def pairs(rows: int, inner: int, columns: int, left: str = "dense", right: str = "dense", needed: str = "") -> int:
    """Multiply-adds of a rows x inner by inner x columns product whose operands have structure, and of whose output
    only a triangle is needed: the triples (i, k, j) with left[i, k] and right[k, j] not known to be zero, counted over
    k. For two upper triangular N x N operands it is N(N+1)(N+2)/6."""
    if "zero" in (left, right):
        return 0
    if needed and left in ("dense", "constant") and right in ("dense", "constant"):
        kept = sum(min(columns, i + 1) if needed == "lower" else max(0, columns - i) for i in range(rows))
        return kept * inner
    if not {left, right} & {"upper", "lower", "diagonal"}:
        return rows * inner * columns
    total = 0
    for k in range(inner):
        total += _rows_at(k, rows, left) * _columns_at(k, columns, right)
    return total


def _rows_at(k: int, rows: int, structure: str) -> int:
    return {"upper": min(k + 1, rows), "lower": max(0, rows - k), "diagonal": int(k < rows)}.get(structure, rows)


def _columns_at(k: int, columns: int, structure: str) -> int:
    return {"upper": max(0, columns - k), "lower": min(k + 1, columns), "diagonal": int(k < columns)}.get(
        structure, columns)
