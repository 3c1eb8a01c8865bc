"""Structure of tensors: which elements are known to be zero, and which are needed by nobody.

`derived` says what an operator makes of the structure of its operands; it serves a whole graph (`propagate`) and the
construction of example inputs alike. Beyond what a tensor's `structure` can say there are tags of masks: "not lower" is
true strictly above the diagonal (`tril(ones) == 0`), "masked lower" is minus infinity there, so that its softmax is
"lower"; "band:kept/all" is a mask that positions make, of which so many elements let something through, and "-inf" is
that everywhere. Going backward, a product that is used only through a part needs only that ("needed").
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

from enlist.tools.solar.graph import Graph, Node, Structure
from enlist.tools.solar.rules.asks import POINTWISE
from enlist.tools.solar.rules.extent import triangle
from enlist.tools.solar.rules.masks import MASKED, Positions
from enlist.tools.solar.rules.movement import MADE
from enlist.tools.solar.rules.needs import needs, sparse
from enlist.tools.solar.rules.readers import needed_parts

STRUCTURES = frozenset(get_args(Structure)) - {"dense", "masked upper", "masked lower"}
NEEDED = "needed"
"""The attribute of a product that says which part of its output is needed: a triangle, or "band:kept/all"."""
SYMMETRIC = "symmetric"
"""The attribute of a product with its own transpose."""
KEPT = "kept"
"""The attribute of a product that says which share of its left operand is not zero, as "band:kept/all"."""
VISIBLE = "visible"
"""The attribute of an attention that says how many elements its mask lets through."""
ROWS = "needed_rows"
"""The attribute of an operator that says which share of its result's rows is needed, as [numerator, denominator, by
gates]."""
PART = "read_in_part"
"""The attribute of an operator that says what it reads of a tensor from outside, where nobody reads the rest."""
BORDER = "border"
"""The attribute of a convolution that says how many zeros a pad operator put around its input: (before, after) by
spatial dimension."""

_SWAPPED = {"upper": "lower", "lower": "upper"}
_SAME = frozenset((
    "clone", "contiguous", "_to_copy", "to", "detach", "alias", "lift_fresh", "lift_fresh_copy", "positive", "copy",
    "_unsafe_view", "relu", "neg", "abs", "sign", "sqrt", "square", "sin", "tanh", "floor", "trunc", "round", "erf",
    "leaky_relu", "silu", "dropout", "div", "true_divide", "gelu", "mish", "hardswish", "relu6", "expm1", "asin",
    "atan", "sinh", "asinh", "native_dropout", "ceil", "tan", "log1p"))
"""Operators that keep zeros, by their first operand."""
_VIEWS = frozenset(("view", "reshape", "expand", "unsqueeze", "squeeze", "slice", "_reshape_alias", "select"))
_PRODUCTS = frozenset(("mm", "bmm", "matmul", "linear"))
_SHAPED = ("upper", "lower", "diagonal", "zero")
_EVERYWHERE = ("zero", "constant", "-inf")
_EACH_ALONE = POINTWISE | {"softmax", "_softmax", "_safe_softmax"}
"""Operators that do nothing for an element that is known."""
_ZERO_AT_MINUS_INFINITY = frozenset(("softmax", "_softmax", "_safe_softmax", "exp", "exp2", "relu", "relu6", "sigmoid",
                                     "softplus", "hardsigmoid"))
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
        return "-inf" if hides(attributes.get("fill_value")) else "constant"
    if op == "eye":
        return "diagonal"
    if op in ("triu", "tril"):
        return _triangle(op, first, int(attributes.get("diagonal") or 0))
    if op == "diag_embed":
        return "diagonal" if not attributes.get("offset") else "dense"
    if op in ("t", "transpose", "permute", "mT", "numpy_T") and _swaps(op, attributes, len(out)):
        return _SWAPPED.get(first, first)
    if op in _VIEWS or op in ("transpose", "permute"):
        return first if first in _EVERYWHERE or _keeps_matrices(op, attributes, shapes, out) else "dense"
    if op in _PRODUCTS:
        second = _SWAPPED.get(tags[1], tags[1]) if op == "linear" and len(tags) > 1 else tags[-1]
        return _matrix_product(first, second) if len(tags) == 2 else "dense"
    tags = [tag if tag in _EVERYWHERE or tuple(shape[-2:]) == tuple(out[-2:]) else "dense"
            for tag, shape in zip(tags, shapes, strict=True)]  # a row or column that is broadcast has no triangle
    first = tags[0] if tags else "dense"
    if op in ("mul", "multiply", "bitwise_and", "logical_and"):
        return _product_of_patterns(tags)
    if op in ("add", "sub"):
        return _sum(op, tags)
    return _of_masks(op, first, tags, attributes) or (first if op in _SAME and first in STRUCTURES else "dense")


def hides(value: Any) -> bool:
    """Whether scores of this value have no weight."""
    return value == "-inf" or (isinstance(value, int | float) and not isinstance(value, bool) and value <= MASKED)


def _keeps_matrices(op: str, attributes: Mapping[str, Any], shapes: Sequence[Sequence[int]],
                    out: Sequence[int]) -> bool:
    """Whether the last two dimensions of a view are those of what it sees, or leading rows and columns of them."""
    if not shapes or len(out) < 2 or len(shapes[0]) < 2:
        return False
    dims = len(shapes[0])
    named = [int(attributes.get(name) or 0) % dims for name in ("dim0", "dim1")] if op == "transpose" else []
    if op == "select":
        named = [int(attributes.get("dim") or 0) % dims]
    if op == "permute":
        named = [] if [int(d) % dims for d in attributes.get("dims") or ()][-2:] == [dims - 2, dims - 1] else [dims - 1]
    if any(d >= dims - 2 for d in named):
        return False
    if op == "slice" and int(attributes.get("dim") or 0) % dims >= dims - 2:
        return not attributes.get("start") and attributes.get("step") in (None, 1)
    return tuple(shapes[0][-2:]) == tuple(out[-2:])


def _sum(op: str, tags: Sequence[str]) -> str:
    """Zeros stay where both have them; what is hidden stays hidden by whatever finite is added."""
    hidden = [t for t in tags if t.startswith("masked ")]
    if hidden and (op == "add" or tags[0] in hidden):
        return hidden[0]
    if len(tags) == 2 and op == "add" and "zero" in tags:
        return tags[1] if tags[0] == "zero" else tags[0]
    return tags[0] if len(tags) == 2 and tags[0] == tags[1] and tags[0] in _SHAPED else "dense"


def _triangle(op: str, first: str, diagonal: int) -> str:
    kept = "upper" if op == "triu" else "lower"
    if first in ("zero", "diagonal") and diagonal == 0:
        return first
    if first == _SWAPPED[kept] and diagonal == 0:
        return "diagonal"
    if first == "-inf":  # zero beside the triangle
        return {("triu", 1): "masked lower", ("tril", -1): "masked upper"}.get((op, diagonal), "dense")
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
    if op in ("logical_not", "bitwise_not"):
        return f"not {first}" if first in ("lower", "upper") else first.removeprefix("not ") if (
            first.startswith("not ")) else ""
    if op == "masked_fill" and len(tags) > 1 and tags[1].startswith("not "):
        kept = tags[1].removeprefix("not ")
        return f"masked {kept}" if hides(value) or tags[2:] == ["-inf"] else kept if value == 0 else ""
    if op == "masked_fill" and len(tags) == 2 and tags[1] in ("upper", "lower") and hides(value):
        return f"masked {_SWAPPED[tags[1]]}"  # a mask of which only the triangle is known hides that much at most
    if op == "where" and len(tags) > 1 and (first in ("lower", "upper") or first.startswith("not ")):
        return _chosen(first, tags, attributes)
    if op in ("_to_copy", "to", "ne", "gt") and first in ("not lower", "not upper"):
        return first
    if op in ("ne", "gt") and value == 0 and first in ("lower", "upper"):
        return first
    if first.startswith("masked "):
        if op in _ZERO_AT_MINUS_INFINITY:
            return first.removeprefix("masked ")
        return first if op in ("div", "mul", "clone", "_to_copy", "contiguous") else ""
    return first if first.startswith("band:") and op in _SAME else ""


def _chosen(condition: str, tags: Sequence[str], attributes: Mapping[str, Any]) -> str:
    """`where`: the first choice where the condition holds, the second elsewhere; numbers are attributes."""
    negated = condition.startswith("not ")
    kept = condition.removeprefix("not ")
    name = "self" if negated else "other"  # what stands outside of the triangle
    outside = attributes.get(name)
    tag = tags[1 if negated else -1] if outside is None else ""
    if hides(outside) or tag == "-inf":
        return f"masked {kept}"
    return kept if outside == 0 or tag == "zero" else ""


def propagate(graph: Graph) -> Graph:
    """The graph with the structure of every tensor that follows from others, and products marked with what of them is
    needed. A graph in which nothing has structure is returned as it is."""
    tags = {t.id: t.structure for t in graph.tensors}
    known: dict[str, str] = dict(tags)
    sources: dict[str, str] = {t.id: t.structure_from for t in graph.tensors}
    positions = Positions(graph)
    for node in graph.nodes:
        for output in node.outputs[:1]:
            shapes = [graph.by_id[t].shape for t in node.inputs]
            tag = derived(node.op, [known[t] for t in node.inputs], node.attributes, shapes, graph.by_id[output].shape)
            if tag == "dense" and node.op in _MASKING:
                tag = _by_positions(graph, node, positions)
            if tag != "dense" and known[output] == "dense":
                known[output] = tag
                reasons = dict.fromkeys(filter(None, (sources.get(t, "") for t in node.inputs)))
                sources[output] = "; ".join(reasons) or node.op
    marks: dict[str, dict[str, Any]] = {name: {NEEDED: part} for name, part in needed_parts(graph, known).items()}
    for node in graph.nodes:
        if node.op in _PRODUCTS and known[node.inputs[0]].startswith("band:"):
            marks.setdefault(node.id, {})[KEPT] = known[node.inputs[0]]
    for node in graph.nodes:  # of what lies outside of a triangle or a mask nothing is worked out
        if node.op in _EACH_ALONE and "." not in node.op and node.outputs:
            part = kept_part(known[node.outputs[0]], graph.by_id[node.outputs[0]].shape)
            if part < 1:
                share = [*part.as_integer_ratio(), False]
                marks.setdefault(node.id, {})[ROWS] = _fewer(node, share)
    for name, border in _borders(graph).items():
        marks.setdefault(name, {})[BORDER] = border
    for name, words in _parts(graph).items():
        marks.setdefault(name, {})[PART] = words
    for name, pairs_seen in _visible(graph, known, positions).items():
        marks.setdefault(name, {})[VISIBLE] = pairs_seen
    if known == tags and not marks:
        return _with_needs(graph)
    tensors = tuple(t.model_copy(update={"structure": known[t.id], "structure_from": sources[t.id]})
                    if known[t.id] != t.structure and known[t.id] in STRUCTURES else t for t in graph.tensors)
    nodes = tuple(n.model_copy(update={"attributes": n.attributes | marks[n.id]}) if n.id in marks else n
                  for n in graph.nodes)
    return _with_needs(graph.model_copy(update={"tensors": tensors, "nodes": nodes}))


def kept_part(tag: str, shape: Sequence[int]) -> Fraction:
    """The part of a tensor's elements that its tag leaves: neither known to be zero nor hidden by a mask."""
    plain = tag.removeprefix("masked ")
    if plain.startswith("band:"):
        return Fraction(plain.removeprefix("band:"))
    if len(shape) < 2 or plain not in ("upper", "lower", "diagonal") or 0 in shape:
        return Fraction(1)
    rows, columns = shape[-2:]
    count = min(rows, columns) if plain == "diagonal" else triangle(rows, columns, 0, plain == "upper")
    return Fraction(count, rows * columns)


def _with_needs(graph: Graph) -> Graph:
    """Operators marked with the share of their rows that is needed."""
    shares = needs(graph, sparse(graph)) if all(n.phase == "forward" for n in graph.nodes) else {}
    if not shares:
        return graph
    marked = {name: [*share.as_integer_ratio(), gated] for name, (share, gated) in shares.items()}
    return graph.model_copy(update={"nodes": tuple(
        n.model_copy(update={"attributes": n.attributes | {ROWS: _fewer(n, marked[n.id])}}) if n.id in marked else n
        for n in graph.nodes)})


def _fewer(node: Node, share: list[Any]) -> list[Any]:
    """The smaller of two shares, where an operator has one already."""
    before = node.attributes.get(ROWS)
    if isinstance(before, list) and Fraction(int(str(before[0])), int(str(before[1]))) <= Fraction(*share[:2]):
        return before
    return share


_MASKING = frozenset(("masked_fill", "where", "add"))


def _by_positions(graph: Graph, node: Node, positions: Positions) -> str:
    """The tag of scores that a mask hides which follows from positions, "dense" where there is none."""
    out = graph.by_id[node.outputs[0]]
    if len(out.shape) < 2:
        return "dense"
    at, hidden_by = {"masked_fill": ([1], True), "where": ([0], False)}.get(node.op, ([0, 1], False))
    outside = node.attributes.get("value" if node.op == "masked_fill" else "other")
    if node.op == "where" and hides(node.attributes.get("self")):
        outside, hidden_by = "-inf", True
    if node.op != "add" and not hides(outside):
        return "dense"
    for place in at:
        mask = graph.by_id[node.inputs[place]] if place < len(node.inputs) else None
        if mask is None or mask.shape[-2:] != out.shape[-2:] or (node.op == "add") == (mask.dtype == "bool"):
            continue
        count = positions.count(mask.id) if node.op != "add" or mask.dtype.startswith(("float", "bfloat")) else None
        if count is None or not mask.elements:
            continue
        kept = mask.elements - count if hidden_by else count
        if kept < mask.elements:
            return f"masked band:{Fraction(kept, mask.elements)}"
    return "dense"


def _visible(graph: Graph, known: Mapping[str, str], positions: Positions) -> dict[str, int]:
    """By attention with a mask that follows from positions, or is known to be a triangle, the pairs (query, key) that
    the mask lets through."""
    found = {}
    for node in graph.nodes:
        name = node.input("attn_mask")
        if node.op != "scaled_dot_product_attention" or name is None:
            continue
        count, mask = positions.count(name), graph.by_id[name]
        kept = known[name].removeprefix("masked ") if known[name].startswith("masked ") or mask.dtype == "bool" else ""
        if count is None and kept in ("lower", "upper"):
            rows, columns = mask.shape[-2:]
            count = mask.elements // max(1, rows * columns) * triangle(rows, columns, 0, kept == "upper")
        if count is not None:
            found[node.id] = count
    return found


def _parts(graph: Graph) -> dict[str, str]:
    """By operator, words for a tensor from outside that is read in part, since only some slices of it are used."""
    used: dict[str, dict[str, int]] = {}
    readers: dict[str, set[str]] = {}
    for node in graph.nodes:
        if node.op in MADE or all(graph.by_id[t].alias_of is not None for t in node.outputs):
            continue
        for tensor in node.inputs:
            root = graph.root(tensor)
            if graph.by_id[root].role not in ("intermediate", "output"):
                used.setdefault(root, {})[tensor] = graph.by_id[tensor].distinct
                readers.setdefault(root, set()).add(node.id)
    found = {}
    for root, parts in used.items():
        total, known = sum(parts.values()), graph.by_id[root]
        if total < known.distinct:
            words = f"{total} of {known.distinct} elements of {known.name or root} are read"
            found.update(dict.fromkeys(readers[root], words))
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
