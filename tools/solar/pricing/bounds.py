"""Lower bounds on run time from a graph and a device: pure arithmetic, nothing is run.

`unfused`: one kernel per operator, each reads its inputs from and writes its outputs to DRAM; the sum over operators of
the slowest of its roofs. `fused`: all in one kernel with everything intermediate on chip; the slowest of the roofs over
the totals, where DRAM sees each needed input byte read once and each output byte written once. Roofs are those of the
roofline model (Williams, Waterman, Patterson, CACM 2009): FLOP over the peak of the unit and dtype, bytes over DRAM
bandwidth. Both hold for cold caches and for the operators as written (no Winograd, Strassen or FFT instead).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool import ToolModel
from enlist.tools.solar.dtypes import FLOATS, dtype_name
from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.hardware import Device
from enlist.tools.solar.pricing.traffic import Views, is_free
from enlist.tools.solar.rules import work
from enlist.tools.solar.work import Work

NOTHING_MEASURED = "nothing was measured"
_SHORT = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8",
          "float8_e5m2": "fp8", "int8": "int8", "uint8": "int8"}
_FLOAT32_RULES = {
    "matmul": "float32 matrix products run at the fp32 rate (TF32 off)",
    "convolution": "float32 convolutions at the TF32 rate (on)",
    "attention": "float32 attention at the TF32 rate at most (its memory-efficient kernel makes float32 products of "
                 "three TF32 ones)",
}
"""PyTorch's defaults for float32, by kind of work."""


class Term(ToolModel):
    """One operator of the unfused bound; `roof` is the slowest one, `seconds` its time."""

    node: str
    op: str
    where: str
    roof: str
    flop: int
    bytes: int
    seconds: float


class Roof(ToolModel):
    """One roof of the fused bound: `amount` is FLOP, or bytes for "dram"; `peak` is per second."""

    roof: str
    amount: int
    peak: float
    seconds: float


class Transfer(ToolModel):
    """One storage that must cross the DRAM bus in the fused bound."""

    tensor: str
    name: str
    role: str
    bytes: int


class Headroom(ToolModel):
    """A stated time against the bounds; ratios are stated / bound, None where nothing was measured."""

    measured_s: float | None
    over_fused: float | None
    over_unfused: float | None
    status: str


class DeviceBounds(ToolModel):
    """The bounds on one device. The terms' seconds add up to `unfused_s`; the largest roof is `fused_s`."""

    device: str
    unfused_s: float
    fused_s: float
    spread: float | None
    limiting_roof: str
    roofs: tuple[Roof, ...]
    arithmetic_intensity: float | None
    ridge_flop_per_byte: float
    terms: tuple[Term, ...]
    headroom: Headroom


class Bounds(ToolModel):
    """Bounds of one graph on several devices; FLOP and bytes do not depend on the device.

    `flop` is by roof; `matrix_flop` is by family (matmul, convolution, attention), without the vector work beside it.
    """

    target: str
    assumed: tuple[str, ...]
    flop: dict[str, int]
    matrix_flop: dict[str, int]
    repriced_as: str | None
    unfused_bytes: int
    fused_bytes: int
    transfers: tuple[Transfer, ...]
    unmodelled: tuple[str, ...]
    devices: tuple[DeviceBounds, ...]


@dataclass(frozen=True)
class _Priced:
    """One operator with its FLOP by roof and its DRAM bytes."""

    node: Node
    flop: dict[str, int]
    bytes: int


def bounds(graph: Graph, devices: Iterable[Device], measured_s: float | None = None,
           dtype: str | None = None) -> Bounds:
    """Bounds of `graph` on each device.

    Args:
        measured_s: a measured time in seconds to set against the bounds.
        dtype: price as if every floating tensor had this dtype (a name that `dtype_name` reads).

    Raises `bad_input` on a dtype that is not floating and a time that is not positive.
    """
    if measured_s is not None and measured_s <= 0:
        raise EnlistError("bad_input", "a measured time must be positive", given=f"{measured_s} s")
    dtype = dtype_name(dtype) if dtype else None
    graph = _as_dtype(graph, dtype) if dtype else graph
    views = Views.of(graph)
    moving = [node for node in graph.nodes if not is_free(graph, node)]
    costs = {node.id: work(graph, node) for node in moving}
    priced = [_price(graph, views, node, costs[node.id]) for node in moving]
    totals: Counter[str] = Counter()
    families: Counter[str] = Counter()
    for item in priced:
        totals.update(item.flop)
        if (cost := costs[item.node.id]) and cost.matrix_flop:
            families[cost.kind] += cost.matrix_flop
    transfers = _transfers(graph, views, moving, costs)
    unmodelled = tuple(sorted({node.op for node in moving if costs[node.id] is None}))
    return Bounds(
        target=graph.target, assumed=(*graph.assumed, *_assumed(graph, costs, dtype, unmodelled)), flop=dict(totals),
        matrix_flop=dict(families), repriced_as=dtype, unfused_bytes=sum(p.bytes for p in priced),
        fused_bytes=sum(t.bytes for t in transfers), transfers=transfers, unmodelled=unmodelled,
        devices=tuple(_on(d, priced, totals, transfers, measured_s) for d in devices))


def _price(graph: Graph, views: Views, node: Node, cost: Work | None) -> _Priced:
    """FLOP by roof and bytes moved; an operator that is not modelled is charged its outputs only."""
    outputs = sum(graph.by_id[t].nbytes(graph.by_id[t].elements) for t in node.outputs)
    if cost is None:
        return _Priced(node, {}, outputs)
    read = views.by_root({t: cost.reads.get(t, graph.by_id[t].distinct) for t in node.inputs})
    moved = sum(graph.by_id[root].nbytes(n) for root, n in read.items())
    moved += outputs if cost.writes is None else graph.by_id[node.outputs[0]].nbytes(cost.writes)
    flop: Counter[str] = Counter()
    matrix, vector = _roofs(graph, node, cost)
    if matrix and cost.matrix_flop:
        flop[matrix] += cost.matrix_flop
    if vector and cost.vector_flop:
        flop[vector] += cost.vector_flop
    return _Priced(node, dict(flop), moved)


def _roofs(graph: Graph, node: Node, cost: Work) -> tuple[str | None, str | None]:
    """The roofs of matrix and vector work, by the fastest dtype that takes part (see `_FLOAT32_RULES`)."""
    dtypes = {graph.by_id[t].dtype for t in (*node.inputs, *node.outputs)}
    fastest = next((d for d in FLOATS if d in dtypes), None)
    if fastest is None:
        return ("tensor.int8" if dtypes & {"int8", "uint8"} else None), None
    short = _SHORT[fastest]
    vector = f"vector.{'fp16' if short == 'fp8' else short}"
    if fastest == "float32":
        return ("tensor.tf32" if cost.kind in ("convolution", "attention") else "vector.fp32"), vector
    return f"tensor.{short}", vector


def _is_float32(graph: Graph, node: Node) -> bool:
    return "float32" in {graph.by_id[t].dtype for t in node.inputs}


def _transfers(graph: Graph, views: Views, moving: list[Node], costs: dict[str, Work | None]) -> tuple[Transfer, ...]:
    """What must cross the DRAM bus however well all is fused: needed parts of inputs, and outputs."""
    used: dict[str, int] = defaultdict(int)
    for node in moving:
        cost = costs[node.id]
        for t in node.inputs if cost else ():
            assert cost is not None
            sure = cost.surely.get(t, cost.reads.get(t, graph.by_id[t].distinct))
            used[t] = max(used[t], sure)
    found = [(root, n) for root, n in views.by_root(used).items() if graph.by_id[root].role not in
             ("intermediate", "output")]
    outputs = {t.id: t.distinct for t in graph.tensors if t.is_output}
    found += [(root, n) for root, n in views.by_root(outputs).items() if graph.by_id[root].role in
              ("intermediate", "output")]
    writes: dict[str, int] = defaultdict(int)  # inputs and buffers that are written in place
    for node in moving:
        cost, root = costs[node.id], graph.root(node.outputs[0])
        if cost and cost.writes and graph.by_id[root].role not in ("intermediate", "output"):
            writes[root] = max(writes[root], cost.writes)
    return tuple(Transfer(tensor=root, name=graph.by_id[root].name, role=graph.by_id[root].role,
                          bytes=graph.by_id[root].nbytes(n)) for root, n in [*found, *writes.items()] if n)


def _on(device: Device, priced: list[_Priced], totals: Counter[str], transfers: tuple[Transfer, ...],
        measured_s: float | None) -> DeviceBounds:
    bandwidth = device.dram_bandwidth.value
    terms = []
    for item in priced:
        times = {roof: n / device.peak(roof) for roof, n in item.flop.items()} | {"dram": item.bytes / bandwidth}
        roof = max(times, key=lambda r: times[r])
        terms.append(Term(node=item.node.id, op=item.node.op, where=item.node.where, roof=roof,
                          flop=sum(item.flop.values()), bytes=item.bytes, seconds=times[roof]))
    moved = sum(t.bytes for t in transfers)
    roofs = [Roof(roof=r, amount=n, peak=device.peak(r), seconds=n / device.peak(r)) for r, n in totals.items()]
    roofs.append(Roof(roof="dram", amount=moved, peak=bandwidth, seconds=moved / bandwidth))
    roofs.sort(key=lambda r: -r.seconds)
    unfused, fused = sum(t.seconds for t in terms), roofs[0].seconds
    return DeviceBounds(
        device=device.name, unfused_s=unfused, fused_s=fused, spread=unfused / fused if fused else None,
        limiting_roof=roofs[0].roof, roofs=tuple(roofs),
        arithmetic_intensity=sum(totals.values()) / moved if moved else None,
        ridge_flop_per_byte=max((device.peak(r) for r in totals), default=device.peak("vector.fp32")) / bandwidth,
        terms=tuple(terms), headroom=_headroom(measured_s, fused, unfused))


def _headroom(measured_s: float | None, fused: float, unfused: float) -> Headroom:
    if measured_s is None:
        return Headroom(measured_s=None, over_fused=None, over_unfused=None, status=NOTHING_MEASURED)
    status = ("below the bound: the measurement or the bound is wrong" if measured_s < fused else
              "between the bounds" if measured_s < unfused else "above both bounds")
    return Headroom(measured_s=measured_s, over_fused=measured_s / fused if fused else None,
                    over_unfused=measured_s / unfused if unfused else None, status=status)


def _as_dtype(graph: Graph, dtype: str) -> Graph:
    return graph.model_copy(update={"tensors": tuple(
        t.model_copy(update={"dtype": dtype}) if t.dtype in FLOATS else t for t in graph.tensors)})


def _assumed(graph: Graph, costs: dict[str, Work | None], dtype: str | None,
             unmodelled: tuple[str, ...]) -> list[str]:
    ops = {node.op for node in graph.nodes}
    lines = ["caches: cold, so inputs start and outputs end in DRAM"]
    kinds = {c.kind for n in graph.nodes if (c := costs.get(n.id)) and _is_float32(graph, n)}
    if rules := [rule for kind, rule in _FLOAT32_RULES.items() if kind in kinds]:
        lines.append(f"precision: PyTorch's defaults, so {', '.join(rules)}")
    if dtype:
        lines.append(f"priced as if every floating tensor were {dtype}")
    if "embedding" in ops:
        lines.append("embedding: ids taken as different in the unfused bound; the fused bound counts one row per table")
    if any(n.op == "scaled_dot_product_attention" and n.input("attn_mask") for n in graph.nodes):
        lines.append("attention with a mask tensor: what it masks is not known, so every pair counts as work")
    if unmodelled:
        lines.append(f"not modelled, counted as no work: {', '.join(unmodelled)}")
    return lines
