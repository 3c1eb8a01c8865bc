"""Reads and writes at places that indices choose.

`reads` takes the places as different, which is likely; `surely` is what no indices can avoid: one place. A write in
place moves what is written and leaves the rest where it lies; indices may repeat, so one place is sure there too.
"""

from math import prod

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.elements import is_floating
from enlist.tools.solar.work import Call, Rule, Work

IN_PLACE = frozenset((
    "slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", "index_put", "_index_put_impl",
    "_unsafe_index_put", "scatter", "scatter_add", "scatter_reduce", "index_copy", "index_add", "index_fill",
    "index_reduce", "masked_scatter", "put"))
"""In-place writes after functionalisation: only the written part moves, the rest stays where it is."""

_ADDING = ("scatter_add", "scatter_reduce", "index_add", "index_reduce")


def _places(call: Call) -> int:
    """The number of places that index tensors choose, as they broadcast against each other."""
    chosen = [call.graph.by_id[t].shape for t, s in zip(call.node.inputs, call.node.slots, strict=True)
              if s in ("index", "indices") and call.graph.by_id[t].dtype != "bool"]
    size = max((len(s) for s in chosen), default=0)
    return prod(max(s[-d] for s in chosen if len(s) >= d) for d in range(1, size + 1)) if chosen else 1


def _gather(call: Call) -> Work:
    source, out = call.first(), call.out()
    sure = out.elements // max(1, _places(call)) if call.node.op not in ("gather", "take") else int(out.elements > 0)
    return Work("move", reads={source.id: min(out.elements, source.distinct)},
                surely={source.id: min(sure, source.distinct)})


def _embedding(call: Call) -> Work:
    """Rows are taken as different; one row is the most that is sure for any ids."""
    weight, ids = call.tensor("weight"), call.tensor("indices")
    if weight is None or ids is None:
        return Work("move")
    rows, width = min(ids.elements, weight.shape[0]), weight.shape[-1]
    return Work("move", reads={weight.id: rows * width}, surely={weight.id: width if rows else 0})


def _embedding_bag(call: Call) -> Work:
    """As an embedding, with the rows of a bag added."""
    made, ids, out = _embedding(call), call.tensor("indices"), call.out()
    width = out.shape[-1]
    adds = max(0, (ids.elements if ids is not None else 0) - out.elements // max(1, width)) * width
    return Work("vector", vector_flop=adds if int(call.attribute("mode", 0)) < 2 else 0, reads=made.reads,
                surely=made.surely)


def _written(call: Call, base: Tensor, source: Tensor | None) -> tuple[int, int]:
    """Elements written if all places differ, and those that are written for sure."""
    if call.node.op.endswith("_scatter") and call.node.op != "masked_scatter":
        all_of_it = min(source.elements, base.distinct) if source is not None else 0
        return all_of_it, all_of_it
    index = call.tensor("index", "indices")
    dim = call.attribute("dim", 0)
    if index is None or index.dtype == "bool" or not index.elements:
        return 0, 0
    if call.node.op.startswith("scatter"):  # each line of indices along the dimension writes somewhere
        size = index.shape[int(dim)] if index.shape else 1
        return index.elements, index.elements // max(1, size)
    if call.node.op == "put":
        each = 1
    elif "index_put" in call.node.op:  # which dimensions are indexed is not in the graph: the largest ones at most
        indexed = sum(s in ("index", "indices") for s in call.node.slots)
        least = prod(sorted(base.shape)[:max(0, len(base.shape) - indexed)])
        each = max(least, source.elements // max(1, _places(call)) if source is not None else 0)
    else:
        each = base.elements // max(1, base.shape[int(dim)] if base.shape else 1)
    return min(_places(call) * each, base.distinct), min(each, base.distinct)


def _scatter(call: Call) -> Work:
    base, source = call.first(), call.tensor("src", "values", "source", "value")
    likely, sure = _written(call, base, source)
    adds = source.elements if source is not None and is_floating(base) and (
        call.node.op in _ADDING or call.attribute("accumulate", False)) else 0
    old = likely if adds else 0  # what is added to is read
    return Work("move", vector_flop=adds, reads={base.id: old}, surely={base.id: 0}, writes=sure)


def _between(call: Call) -> Work:
    """Resampling: places follow from sizes. Where the output has more positions than the input, at least these many are
    sums of two; nearest neighbours are copies."""
    source, out = call.first(), call.out()
    adds = 0 if "nearest" in call.node.op else 2 * max(0, out.elements - source.elements)
    return Work("vector" if adds else "move", vector_flop=adds, reads={source.id: min(out.elements, source.distinct)})


def _affine_grid(call: Call) -> Work:
    """Each place is a matrix times its coordinates: per component at least one product and one sum."""
    return Work("vector", vector_flop=2 * call.out().elements)


def _grid(call: Call) -> Work:
    """Where the grid points to is data, and points outside need no input."""
    source, grid = call.first(), call.tensor("grid")
    return Work("vector", vector_flop=2 * grid.elements if grid is not None else 0,
                reads={source.id: min(source.distinct, 4 * call.out().elements)}, surely={source.id: 0})


_UPSAMPLE = [f"upsample_{kind}" for kind in (
    "nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d")] + [
    f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)] + ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]
RULES: dict[str, Rule] = {
    **dict.fromkeys(("index", "_unsafe_index", "index_select", "gather", "take"), _gather), "embedding": _embedding,
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag"), _embedding_bag),
    **dict.fromkeys(IN_PLACE, _scatter), **dict.fromkeys(_UPSAMPLE, _between),
    **dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d", "cudnn_grid_sampler"), _grid),
    "affine_grid_generator": _affine_grid}
