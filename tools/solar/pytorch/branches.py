"""Branches of `torch.cond` whose condition depends on data.

A lower bound must hold whichever branch is taken. A branch that needs no more than the other of anything (FLOP of each
kind, special functions, bytes of each tensor) is priced as it is; where each is cheaper in something, one operator
"cond" stands for both, with the lesser of each quantity.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Attribute, Graph, Scalar
from enlist.tools.solar.pytorch.recorder import Given, Recorder
from enlist.tools.solar.pytorch.watch import recording
from enlist.tools.solar.rules.lean import lean
from enlist.tools.solar.rules.table import work

_FLOP = ("matrix", "vector", "special")


def cheaper(recorder: Recorder, branches: tuple[Callable[..., Any], Callable[..., Any]], operands: Any) -> Any:
    """What a branch returns, recorded as said above."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    costs, results = [], []
    for branch in branches:
        cost, result = _cost(recorder, branch, operands)
        costs.append(cost)
        results.append(result)
    for place, name in enumerate(("true", "false")):
        other = costs[1 - place]
        if all(n <= other[what] for what, n in costs[place].items()):
            recorder.choices.append(f"cond: the {name} branch is priced, the cheaper one")
            return branches[place](*operands)
    recorder.choices.append("cond: of FLOP and of bytes the lesser of both branches is priced")
    least = {what: min(cost[what] for cost in costs) for what in costs[0].keys() | costs[1].keys()}
    storages = [what for what in least if isinstance(what, int) and what in recorder.memories]
    names = [recorder.memories[s].whole for s in storages]
    shared = {what.partition(" ")[2] for cost in costs for what in cost if isinstance(what, str)} - {""}
    dtype: str | None = next(iter(shared)) if len(shared) == 1 else None
    counts = {kind: least.get(f"{kind} {dtype}", 0) if dtype else 0 for kind in _FLOP}
    with _disable_current_modes():
        made = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: torch.empty_like(t, device="meta"), results[0])
        held = [torch.empty(0, device="meta") for _ in names]
    read: list[Scalar] = [least[s] for s in storages]
    attributes: dict[str, Attribute] = {**counts, "least": read, "dtype": dtype}
    recorder.emit("cond", Given(held, ["operands"] * len(names), names, attributes),
                  [t for t in torch.utils._pytree.tree_leaves(made) if isinstance(t, torch.Tensor)])
    return made


def _cost(recorder: Recorder, branch: Callable[..., Any], operands: Any) -> tuple[Counter[str | int], Any]:
    """What a branch needs, run apart: FLOP by kind and dtype, and by storage from outside the elements that one of its
    operators reads, which all of them together read at least; and what it returns."""
    import torch

    from enlist.tools.solar.pytorch.finish import finished

    apart = recorder.apart()
    with recording(apart, alone=True), torch.no_grad():
        outputs = branch(*operands)
    graph = lean(finished(apart, outputs, "branch", []))
    need: Counter[str | int] = Counter()
    storage = {graph_id: place for place, memory in apart.memories.items() if memory.outside
               for graph_id in memory.views.values()}
    for node in graph.nodes:
        made = work(graph, node)
        if made is None:
            continue
        dtype = made.multiply or _dtype(graph, (*node.inputs, *node.outputs))
        for kind, n in zip(_FLOP, (made.matrix_flop, made.vector_flop, made.special), strict=True):
            if n:
                need[f"{kind} {dtype}"] += n * node.repeat
        for tensor in node.inputs:
            place = storage.get(graph.root(tensor))
            if place is not None and any(graph.by_id[t].alias_of is None for t in node.outputs):
                read = made.surely.get(tensor, made.reads.get(tensor, graph.by_id[tensor].distinct))
                need[place] = max(need[place], read)
    return need, outputs


def _dtype(graph: Graph, tensors: tuple[str, ...]) -> str:
    """The fastest floating dtype among tensors."""
    found = {graph.by_id[t].dtype for t in tensors}
    return next((d for d in FLOATS if d in found), "")
