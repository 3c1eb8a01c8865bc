"""The estimate: how long a good library implementation is likely to take. It is no bound, and no bound uses it.

Each operator takes the slowest of its roofs at the fraction of the peak that library kernels reach, with the units that
its output tiles keep busy, and a launch. Two executions are priced, and the shorter one is the estimate: eager, one
kernel per operator; and compiled, where chains of elementwise work, reductions and copies become one kernel each, so
that what lies between them stays on chip.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import Device
from enlist.tools.solar.pricing.priced import Priced, linked
from enlist.tools.solar.work import Nest


@dataclass(frozen=True)
class Estimate:
    """Seconds of each operator as a kernel of its own, of the whole, its launches and what these take."""

    each: tuple[float, ...]
    total_s: float
    launches: int
    launch_s: float


@cache
def constants() -> Mapping[str, Any]:
    """The fractions of `estimate.yaml`."""
    found: Mapping[str, Any] = yaml.safe_load(files(__package__).joinpath("estimate.yaml").read_text(encoding="utf-8"))
    return found


def estimate(graph: Graph, items: Sequence[Priced], device: Device) -> Estimate:
    """The estimate of a graph on a device."""
    gap = device.launch_overhead.value if device.launch_overhead else constants()["launch_s"]
    each, compute = [], []
    for item in items:
        busy = _compute(graph, item, device)
        launches = (item.work.launches if item.work else 1) * item.node.repeat
        compute.append(busy)
        each.append(max(busy, _dram(item.bytes, device)) + launches * gap)
    chains = _chains(graph, items)
    compiled, kernels = 0.0, 0
    for members in chains:
        inside = {items[i].node.id for i in members}
        moved = _crossing(graph, [items[i] for i in members], chains.of, inside)
        count = max(items[i].node.repeat for i in members)
        alone = items[members[0]].work if len(members) == 1 else None
        if alone is not None:
            count *= alone.launches
        compiled += max(sum(compute[i] for i in members), _dram(moved, device)) + count * gap
        kernels += count
    eager, launches = sum(each), sum((i.work.launches if i.work else 1) * i.node.repeat for i in items)
    if compiled < eager:
        return Estimate(tuple(each), compiled, kernels, kernels * gap)
    return Estimate(tuple(each), eager, launches, launches * gap)


def _dram(moved: float, device: Device) -> float:
    return moved / (device.dram_bandwidth.value * constants()["dram"])


def _compute(graph: Graph, item: Priced, device: Device) -> float:
    """Seconds on the compute roofs at attainable rates, and on links at their own."""
    known, seconds = constants(), 0.0
    for roof, flop in item.flop.items():
        if roof.startswith("tensor."):
            seconds += flop / (device.peak(roof) * _fraction(graph, item, roof) * _busy(item, device))
        else:
            seconds = max(seconds, flop / (device.peak(roof) * known["vector"]))
    if device.interconnect is not None:
        seconds = max(seconds, linked(item, device) / device.interconnect.bandwidth)
    return max(seconds, item.special / (device.peak("special") * known["special"]) if item.special else 0.0)


def _fraction(graph: Graph, item: Priced, roof: str) -> float:
    kinds = constants()["matrix"]
    kind = str(item.work.kind) if item.work else "matmul"
    if kind == "convolution":
        if "transpose" in item.node.op or item.node.attributes.get("transposed"):
            kind = f"transposed {kind}"
        weight = item.node.input("weight")
        kind += " over volumes" if weight is not None and len(graph.by_id[weight].shape) == 5 else ""
    row = kinds.get(kind, kinds["matmul"])
    return float(row.get(roof, row["default"]))


def _busy(item: Priced, device: Device) -> float:
    """The share of the units that the output tiles of the largest nest keep busy: whole waves of tiles, the last one
    partly filled; short of one wave, long sums are split over the idle units."""
    nests = item.work.nests if item.work else ()
    if not nests:
        return 1.0
    nest = max(nests, key=lambda n: n.batch * n.m * n.n * n.k)
    tiles = _tiles(nest)
    units = device.units.count
    if tiles < units:
        tiles *= max(1, min(units // tiles, nest.k // 512))
    waves = -(-tiles // units)
    useful = nest.m * nest.n / (_round(nest.m) * _round(nest.n))
    return max(0.02, tiles / (waves * units)) * max(0.05, useful)


def _round(n: int) -> int:
    """To whole tiles; small sizes have smaller tiles."""
    tile = int(constants()["tile"])
    for size in (16, 32, 64, tile):
        if n <= size:
            return size
    return -(-n // tile) * tile


def _tiles(nest: Nest) -> int:
    tile = int(constants()["tile"])
    return nest.batch * -(-nest.m // tile) * -(-nest.n // tile)


class _Chains(list[list[int]]):
    """Groups of operators that a compiler makes one kernel of; `of` is the group of the node that makes a tensor."""

    of: dict[str, str]


def _chains(graph: Graph, items: Sequence[Priced]) -> _Chains:
    """Consecutive light operators (no matrix work) that hand tensors to each other, and every other one alone."""
    chains = _Chains()
    chains.of = {}
    home: dict[str, int] = {}
    for index, item in enumerate(items):
        roots = {graph.root(t) for t in item.node.inputs}
        light = item.work is not None and not any(r.startswith("tensor.") for r in item.flop) and not item.link_bytes
        joined = max((home[r] for r in roots if r in home), default=None) if light else None
        if joined is None:
            chains.append([])
            joined = len(chains) - 1
        chains[joined].append(index)
        for tensor in item.node.outputs:
            chains.of[graph.root(tensor)] = item.node.id
            if light:
                home[graph.root(tensor)] = joined
    return chains


def _crossing(graph: Graph, members: Sequence[Priced], maker: Mapping[str, str], inside: set[str]) -> int:
    """Bytes that a group of operators reads, each storage once, and writes for others."""
    read: dict[str, int] = {}
    written = 0
    for item in members:
        for root, n in item.moved.items():
            if maker.get(root) not in inside:
                read[root] = max(read.get(root, 0), n)
        if any(graph.by_id[t].is_output or _readers(graph, t) - inside for t in item.node.outputs):
            written += item.written
    return sum(read.values()) + written


def _readers(graph: Graph, tensor: str) -> set[str]:
    """Operators that read the storage of a tensor."""
    return _readers_by_root(graph).get(graph.root(tensor), set())


_known: dict[int, tuple[Graph, dict[str, set[str]]]] = {}


def _readers_by_root(graph: Graph) -> dict[str, set[str]]:
    found = _known.get(id(graph))
    if found is None or found[0] is not graph:
        made: dict[str, set[str]] = {}
        for node in graph.nodes:
            if all(graph.by_id[t].alias_of is not None for t in node.outputs):
                continue
            for tensor in node.inputs:
                made.setdefault(graph.root(tensor), set()).add(node.id)
        _known.clear()
        found = _known[id(graph)] = (graph, made)
    return found[1]
