"""What part of its operands an operator needs for a part of its result.

A part is a box: a range of indices for each dimension. `asks` maps a box of the result to one box for each operand,
and to None where the operator is not known to make a part alone: it makes all of the result from all of its operands.
Going backward through a graph with it (`narrow`) gives what nobody needs, and needs not be made.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.elementwise import EACH

Shape = Sequence[int]
Part = tuple[tuple[int, int], ...]
"""(first, end) by dimension."""

VIEWS = frozenset(("view", "reshape", "_unsafe_view", "expand", "unsqueeze", "squeeze", "permute", "transpose", "t",
                   "slice", "select"))
POINTWISE = frozenset((*EACH, "div", "true_divide", "divide", "pow", "clamp", "where", "masked_fill", "_to_copy",
                       "clone", "contiguous", "dropout", "logical_and", "logical_or", "logical_not", "bitwise_and",
                       "bitwise_or", "bitwise_not", "addcdiv", "detach", "fmod", "remainder")) - {
    "glu", "native_dropout", "_fused_dropout", "rrelu_with_noise", "log_sigmoid_forward", "prelu", "_prelu_kernel",
    "polygamma", "mvlgamma", "igamma", "polar"}
_PRODUCTS = frozenset(("mm", "matmul", "bmm", "linear"))
_OVER = frozenset(("softmax", "_softmax", "_safe_softmax", "log_softmax", "_log_softmax"))
_REDUCE = frozenset(("sum", "mean", "amax", "amin", "prod", "logsumexp", "argmax", "argmin", "any", "all", "var",
                     "std"))
_NORMS = frozenset(("layer_norm", "rms_norm", "_fused_rms_norm"))
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d")
_POOLS = tuple(f"{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3))
_PICKS = ("max", "min", "topk", "sort", "kthvalue", "median", "mode")
_SCANS = frozenset(("cumsum", "cumprod", "logcumsumexp"))


def whole(shape: Sequence[int]) -> Part:
    return tuple((0, n) for n in shape)


def size(part: Part) -> int:
    return prod(end - first for first, end in part)


def hull(one: Part, other: Part) -> Part:
    """The least box around two."""
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def number(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name)
    return int(value) if isinstance(value, int | float) else default


def numbers(node: Node, name: str) -> list[int]:
    """An argument that is a list of whole numbers; empty where it was left out."""
    value = node.attributes.get(name)
    return [int(str(n)) for n in value] if isinstance(value, list) else []


def _dims(node: Node, count: int) -> set[int]:
    """The dimensions that an operator reduces."""
    given = node.attributes.get("dim", node.attributes.get("dims"))
    many = given if isinstance(given, list) else [given]
    return {int(str(d)) % max(1, count) for d in many if d is not None} or set(range(count))


def asks(graph: Graph, node: Node, part: Part) -> tuple[Part, list[Part]] | None:
    """The box of the result that can be made alone, which is `part` or more of it, and by operand the box that it
    needs."""
    if len(node.outputs) != 1 or not node.inputs:
        return None
    shapes = [graph.by_id[t].shape for t in node.inputs]
    out = graph.by_id[node.outputs[0]].shape
    if node.op in POINTWISE:
        return part, [_aligned(shape, out, part) for shape in shapes]
    rule = _RULES.get(node.op)
    if rule is None:
        return None
    part = _more(node, shapes, out, part)
    made = rule(node, shapes, out, part)
    return None if made is None else (part, made)


def _more(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> Part:
    """Dimensions of which an operator makes all or nothing are whole."""
    fixed: set[int] = set()
    if node.op in _OVER or (node.op in _PICKS and len(out) == len(shapes[0])):
        fixed = {number(node, "dim", -1) % max(1, len(out))}
    elif node.op in _NORMS:
        given = node.attributes.get("normalized_shape")
        fixed = set(range(len(out) - (len(given) if isinstance(given, list) else 1), len(out)))
    elif node.op == "group_norm":
        fixed = set(range(1, len(out)))
    elif node.op in _SCANS:
        dim = number(node, "dim", 0) % max(1, len(out))
        return tuple((0, p[1]) if d == dim else p for d, p in enumerate(part))
    elif node.op in _CONVOLUTIONS and len(out) == len(shapes[1]):
        inside = _inside(node, shapes[0][2:], shapes[1][2:], part[2:])
        fixed = {2 + d for d, span in enumerate(inside) if span is None}
        groups = number(node, "groups", 1)
        each = max(1, out[1] // max(1, groups))
        fixed |= {1} if groups != 1 and (part[1][0] % each or part[1][1] % each) else set()
    elif node.op in ("index_select", "index"):
        places = node.attributes.get("places")
        fixed = {int(str(places[0]))} if isinstance(places, list) else set()
    elif node.op in _POOLS:
        count = int(next(c for c in node.op if c.isdigit()))
        inside = _inside(node, shapes[0][-count:], _each(node, "kernel_size", 1, count), part[-count:])
        fixed = {len(out) - count + d for d, span in enumerate(inside) if span is None}
    return tuple((0, n) if d in fixed else p for d, (n, p) in enumerate(zip(out, part, strict=True)))


def _inside(node: Node, lengths: Shape, kernel: Shape, part: Part) -> list[tuple[int, int] | None]:
    """By dimension, the positions that the windows of a part see, None where some lie on padding."""
    count, spans = len(lengths), []
    stride = _each(node, "stride", 1, count) if node.attributes.get("stride") else list(kernel)
    if node.op in _CONVOLUTIONS:
        stride = _each(node, "stride", 1, count)
    for d, (first, end) in enumerate(part):
        pad, gap = _each(node, "padding", 0, count)[d], _each(node, "dilation", 1, count)[d]
        start, stop = first * stride[d] - pad, (end - 1) * stride[d] - pad + gap * (kernel[d] - 1) + 1
        spans.append((start, stop) if start >= 0 and stop <= lengths[d] else None)
    return spans


def _aligned(shape: Sequence[int], out: Shape, part: Part) -> Part:
    """The part of an operand that broadcasts to the result."""
    return tuple((0, n) if n != m else p for n, m, p in zip(
        shape, out[len(out) - len(shape):], part[len(out) - len(shape):], strict=True))


def _product(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    left, right = shapes[0], shapes[1]
    if len(left) < 2 or len(right) < 2 or node.slots[0] not in ("self", "input", "mat1", "batch1"):
        return None
    inner = (0, left[-1])
    rows = (*_aligned((*left[:-1],), out[:-1], part[:-1]), inner)
    if node.op == "linear":
        made = [rows, (part[-1], inner)]
        return [*made, (part[-1],)] if len(shapes) == 3 else made
    batch = _aligned(right[:-2], out[:-2], part[:-2])
    return [rows, (*batch, inner, part[-1])] if len(shapes) == 2 else None


def _added(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """A product and what is added to it."""
    if node.slots != ("self", "mat1", "mat2"):
        return None
    return [_aligned(shapes[0], out, part), (part[0], (0, shapes[1][1])), ((0, shapes[2][0]), part[1])]


def _picked(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """Greatest and smallest elements along a dimension, all of which is looked at."""
    if "dim" not in node.attributes and node.op in ("max", "min", "median"):
        return None
    source, dim = shapes[0], number(node, "dim", -1) % max(1, len(shapes[0]))
    if len(out) == len(source):
        return [tuple((0, n) if d == dim else p for d, (n, p) in enumerate(zip(source, part, strict=True)))]
    return [(*part[:dim], (0, source[dim]), *part[dim:])] if len(out) == len(source) - 1 and len(shapes) == 1 else None


def _flipped(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    dims = _dims(node, len(out))
    return [tuple((n - b, n - a) if d in dims else (a, b) for d, (n, (a, b)) in enumerate(zip(out, part, strict=True)))]


def _nearest(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """The positions that copies are taken of."""
    source, made = shapes[0], list(part[:2])
    for n, m, (a, b) in zip(source[2:], out[2:], part[2:], strict=True):
        made.append((a * n // m, min(n, (b - 1) * n // m + 1)))
    return [tuple(made)]


def _indexed(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """Places along one dimension that are known when the model is captured (`places`: which dimension, first, end)."""
    places = node.attributes.get("places")
    if not isinstance(places, list) or len(shapes) != 2 or len(shapes[1]) != 1 or len(out) != len(shapes[0]):
        return None
    dim, first, end = (int(str(n)) for n in places)
    return [tuple((first, end) if d == dim else p for d, p in enumerate(part)), whole(shapes[1])]


def _over(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """Work along one dimension, all of which is needed."""
    dim = number(node, "dim", -1) % max(1, len(out))
    return [tuple((0, n) if d == dim else p for d, (n, p) in enumerate(zip(shapes[0], part, strict=True)))]


def _norm(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    given = node.attributes.get("normalized_shape")
    last = len(given) if isinstance(given, list) else 1
    if last > len(out):
        return None
    first = (*part[:len(out) - last], *whole(out[len(out) - last:]))
    return [first, *map(whole, shapes[1:])]


def _batch_norm(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    return [part, *((part[1],) if len(s) == 1 else whole(s) for s in shapes[1:])] if len(out) > 1 else None


def _group_norm(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    return [(part[0], *whole(out[1:])), *map(whole, shapes[1:])]


def _reduced(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    source, dims = shapes[0], _dims(node, len(shapes[0]))
    left = list(part) if len(out) == len(source) else []
    if not left:
        rest = iter(part)
        if len(out) != len(source) - len(dims):
            return None
        left = [(0, 0) if d in dims else next(rest) for d in range(len(source))]
    return [tuple((0, n) if d in dims else p for d, (n, p) in enumerate(zip(source, left, strict=True)))]


def _scan(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """Up to the last one that is needed."""
    return [part]


def _embedding(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    if node.slots[:2] != ("weight", "indices"):
        return None
    return [((0, shapes[0][0]), part[-1]), part[:-1]]


def _attention(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    if node.slots[:3] != ("query", "key", "value") or len(shapes[0]) != len(out):
        return None
    made = []
    for slot, shape in zip(node.slots, shapes, strict=True):
        if slot == "query":
            made.append((*part[:-1], (0, shape[-1])))
        elif slot in ("key", "value"):
            batch = tuple(p if n == m else (0, n) for n, m, p in zip(shape[:-2], out[:-2], part[:-2], strict=True))
            if shape[:-2] != out[:-2] and part[:-2] != whole(out[:-2]):
                return None  # heads that share keys
            made.append((*batch, (0, shape[-2]), part[-1] if slot == "value" else (0, shape[-1])))
        elif slot == "attn_mask":
            rows = _aligned(shape[:-1], out[:-1], part[:-1])
            made.append((*rows, (0, shape[-1])))
        else:
            return None
    return made


def _convolution(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    source, weight = shapes[0], shapes[1]
    if node.slots[:2] != ("input", "weight") or len(source) != len(weight) or node.attributes.get("transposed") or \
            isinstance(node.attributes.get("padding"), str):
        return None
    inside = _inside(node, source[2:], weight[2:], part[2:])
    taken = [(0, n) if span is None or p == (0, m) else span
             for n, m, p, span in zip(source[2:], out[2:], part[2:], inside, strict=True)]
    groups = max(1, number(node, "groups", 1))
    each, inner = max(1, out[1] // groups), source[1] // groups
    channels = (0, source[1]) if groups == 1 else (part[1][0] // each * inner, part[1][1] // each * inner)
    made: list[Part] = [(part[0], channels, *taken), (part[1], *whole(weight[1:]))]
    return [*made, (part[1],)] if len(shapes) == 3 else made


def _each(node: Node, name: str, default: int, count: int) -> list[int]:
    value = node.attributes.get(name)
    many = [int(str(v)) for v in value] if isinstance(value, list) and value else [
        int(value) if isinstance(value, int) else default]
    return many * count if len(many) == 1 else many


def _pool(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    count = int(next(c for c in node.op if c.isdigit()))
    lead, source = len(out) - count, shapes[0]
    inside = _inside(node, source[lead:], _each(node, "kernel_size", 1, count), part[lead:])
    taken = [(0, n) if span is None or p == (0, m) else span
             for n, m, p, span in zip(source[lead:], out[lead:], part[lead:], inside, strict=True)]
    return [(*part[:lead], *taken)]


def _cat(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    """Of operands that lie beside the part, nothing."""
    dim, at, made = number(node, "dim", 0) % len(out), 0, []
    for shape in shapes:
        if len(shape) != len(out):
            return None
        first, end = max(part[dim][0] - at, 0), min(part[dim][1] - at, shape[dim])
        made.append(tuple((first, max(first, end)) if d == dim else p for d, p in enumerate(part)))
        at += shape[dim]
    return made


def _stack(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    dim = number(node, "dim", 0) % len(out)
    first, end = part[dim]
    rest = (*part[:dim], *part[dim + 1:])
    return [rest if first <= i < end else tuple((a, a) for a, _ in rest) for i in range(len(shapes))]


def _pad(node: Node, shapes: Sequence[Shape], out: Shape, part: Part) -> list[Part] | None:
    pads = numbers(node, "pad")
    made = []
    for back, (n, p) in enumerate(zip(reversed(shapes[0]), reversed(part), strict=True)):
        before = pads[2 * back] if 2 * back < len(pads) else 0
        first = min(max(p[0] - before, 0), n)
        made.append((first, max(first, min(p[1] - before, n))))
    return [tuple(reversed(made))]


_RULES: Mapping[str, Callable[[Node, Sequence[Shape], Shape, Part], list[Part] | None]] = {
    **dict.fromkeys(_PRODUCTS, _product), **dict.fromkeys(_OVER, _over), **dict.fromkeys(_PICKS, _picked),
    **dict.fromkeys(_REDUCE, _reduced), **dict.fromkeys(_NORMS, _norm), **dict.fromkeys(_SCANS, _scan),
    **dict.fromkeys(_CONVOLUTIONS, _convolution), **dict.fromkeys(_POOLS, _pool), "batch_norm": _batch_norm,
    "group_norm": _group_norm, "embedding": _embedding, "addmm": _added, "flip": _flipped,
    "upsample_nearest1d": _nearest, "upsample_nearest2d": _nearest, "index_select": _indexed, "index": _indexed,
    "scaled_dot_product_attention": _attention, "cat": _cat, "stack": _stack, "constant_pad_nd": _pad}
