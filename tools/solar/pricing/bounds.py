"""Lower bounds on run time from a graph and a device: pure arithmetic, nothing is run.

`unfused`: one kernel per operator, each reads its inputs from and writes its outputs to DRAM; the sum over operators of
the slowest of its roofs. `fused`: all of a phase in one kernel with everything intermediate on chip; the slowest of the
roofs over the totals, where DRAM sees each needed input byte read once and each output byte written once.
`cache-aware`: as fused, with what a finite capacity on chip forces to cross DRAM again. Roofs are those of the roofline
model (Williams, Waterman, Patterson, CACM 2009). A training step has several phases, each a call of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.dtypes import FLOATS, dtype_name
from enlist.tools.solar.graph import Graph, Phase
from enlist.tools.solar.hardware import Device
from enlist.tools.solar.pricing.assumptions import assumptions, coverage
from enlist.tools.solar.pricing.cache_aware import extra_for_call, extra_for_operator
from enlist.tools.solar.pricing.estimate import estimate
from enlist.tools.solar.pricing.memory import memory
from enlist.tools.solar.pricing.model import (
    NOTHING_MEASURED,
    Bounds,
    DeviceBounds,
    Fidelities,
    Headroom,
    PeakUsed,
    Roof,
    Term,
    Transfer,
)
from enlist.tools.solar.pricing.priced import DRAM, LINK, LLC, SPECIAL, Priced, linked, priced
from enlist.tools.solar.pricing.ruling import Ruling
from enlist.tools.solar.pricing.traffic import Views
from enlist.tools.solar.rules.lean import lean
from enlist.tools.solar.rules.structure import propagate

__all__ = ["NOTHING_MEASURED", "Bounds", "DeviceBounds", "Headroom", "Roof", "Ruling", "Term", "Transfer", "bounds"]

EMULATED = 6
"""FLOP that a special function takes at least on vector units: a polynomial of degree three by Horner's rule, as
FlashAttention-4 has for exp2. Both kinds of unit may share the evaluations."""
_INSIDE = ("intermediate", "output")


@dataclass(frozen=True)
class _Written:
    """The operators as the model has them, with what lower bounds leave out."""

    graph: Graph
    items: list[Priced]


@dataclass(frozen=True)
class _Call:
    """One phase: its operators, the storages that it begins with, what crosses DRAM."""

    phase: Phase
    items: list[Priced]
    outside: set[str]
    transfers: tuple[Transfer, ...]

    @property
    def bytes(self) -> int:
        return sum(t.bytes for t in self.transfers)


def bounds(graph: Graph, devices: Iterable[Device], measured_s: float | None = None, dtype: str | None = None,
           ruling: Ruling | None = None) -> Bounds:
    """Bounds of `graph` on each device.

    Args:
        measured_s: a measured time in seconds to set against the bounds.
        dtype: price as if every floating tensor had this dtype (a name that `dtype_name` reads).
        ruling: the class of implementations; the default is standard arithmetic, cold, PyTorch's default precision.

    Raises `bad_input` on a dtype that is not floating and a time that is not positive.
    """
    if measured_s is not None and measured_s <= 0:
        raise EnlistError("bad_input", "a measured time must be positive", given=f"{measured_s} s")
    ruling = ruling or Ruling()
    dtype = dtype_name(dtype) if dtype else None
    written = _as_dtype(graph, dtype) if dtype else graph
    least = lean(written)
    graph = propagate(least)
    views = Views.of(graph)
    items = priced(graph, views, ruling)
    usual = ruling.model_copy(update={"any_algorithm": False})  # what PyTorch runs, whatever else is allowed
    full = priced(graph, views, usual) if ruling.any_algorithm else items
    likely = _Written(graph, full)
    if least is not written:
        whole = propagate(written)
        likely = _Written(whole, priced(whole, Views.of(whole), usual))
    calls = _calls(graph, views, items)
    strict = ruling.model_copy(update={"strict_fp32": True})
    strict_items = items if ruling.strict_fp32 else priced(graph, views, strict)
    flop: Counter[str] = Counter()
    families: Counter[str] = Counter()
    for item in items:
        flop.update(item.flop)
        if item.work and item.work.matrix_flop:
            families[item.work.kind] += item.work.matrix_flop * item.node.repeat
    unmodelled = tuple(sorted({i.node.op for i in items if i.work is None}))
    transfers = tuple(t for call in calls for t in call.transfers)
    clocked = [d.with_clock(ruling.clock_mhz * 1e6) if ruling.clock_mhz else d for d in devices]
    return Bounds(
        target=graph.target, assumed=(*graph.assumed, *assumptions(graph, items, dtype, ruling, unmodelled)),
        flop=dict(flop), matrix_flop=dict(families), special=sum(i.special for i in items), repriced_as=dtype,
        unfused_bytes=sum(i.bytes for i in items), fused_bytes=sum(t.bytes for t in transfers), transfers=transfers,
        coverage=coverage(graph, items), unmodelled=unmodelled,
        devices=tuple(_on(graph, d, items, calls, _strictly(graph, strict_items, calls, d, strict), measured_s, ruling,
                          likely, full) for d in clocked))


def _calls(graph: Graph, views: Views, items: Sequence[Priced]) -> list[_Call]:
    """The phases in order, each with what it must move."""
    by_phase: dict[Phase, list[Priced]] = {}
    for item in items:
        by_phase.setdefault(item.node.phase, []).append(item)
    home = {graph.root(t): i.node.phase for i in items for t in i.node.outputs
            if graph.by_id[graph.root(t)].role in _INSIDE}
    wanted = {phase: _used(graph, many) for phase, many in by_phase.items()}
    calls = []
    for phase, many in (by_phase or {"forward": []}).items():
        read = {root: n for root, n in views.by_root(wanted.get(phase, {})).items() if home.get(root) != phase
                and (graph.by_id[root].role not in _INSIDE or root in home)}
        kept: dict[str, int] = defaultdict(int)  # made here and used by another phase
        for other, used in wanted.items():
            if other != phase:
                for root, n in views.by_root(used).items():
                    if home.get(root) == phase:
                        kept[root] = max(kept[root], n)
        made = {t.id: t.distinct for t in graph.tensors if t.is_output}
        for root, n in views.by_root(made).items():
            if home.get(root, "forward") == phase and graph.by_id[root].role in _INSIDE:
                kept[root] = max(kept[root], n)
        for item in many:  # inputs and buffers that are written in place
            if item.node.outputs and item.work and item.work.writes:
                root = graph.root(item.node.outputs[0])
                if graph.by_id[root].role not in _INSIDE:
                    kept[root] = max(kept[root], item.work.writes)
        crossing = [("in", root, n) for root, n in read.items()] + [("out", root, n) for root, n in kept.items()]
        calls.append(_Call(phase, many, set(read), tuple(Transfer(
            tensor=root, name=graph.by_id[root].name, role=graph.by_id[root].role, phase=phase, way=way,
            bytes=graph.by_id[root].nbytes(n)) for way, root, n in crossing if n)))
    return calls


def _used(graph: Graph, items: Iterable[Priced]) -> dict[str, int]:
    """Elements that any correct run reads, by tensor."""
    used: dict[str, int] = defaultdict(int)
    for item in items:
        for t in item.node.inputs if item.work else ():
            assert item.work is not None
            used[t] = max(used[t], item.work.surely.get(t, item.work.reads.get(t, graph.by_id[t].distinct)))
    return used


def _on(graph: Graph, device: Device, items: list[Priced], calls: list[_Call], strict: Fidelities,
        measured_s: float | None, ruling: Ruling, written: _Written, full: list[Priced]) -> DeviceBounds:
    here = estimate(graph, full, device)
    guess = here if written.items is full else estimate(written.graph, written.items, device)
    terms = tuple(_term(graph, item, device, ruling, likely) for item, likely in zip(items, here.each, strict=True))
    fidelities, roofs = _fidelities(graph, items, calls, device, ruling)
    longest = max(roofs, key=lambda r: r.seconds)
    served: Counter[str] = Counter()
    for item in items:
        served.update(_served(item, device))
    moved, all_flop = sum(c.bytes for c in calls), sum(served.values())
    likely = max(guess.total_s, fidelities.fused_s)
    peaks = {r.roof for r in roofs} | {t.roof for t in terms}
    widest = max((device.peak(r) for r in served), default=device.peak("vector.fp32"))
    return DeviceBounds(
        device=device.name, cls=ruling.said(any(n.op.startswith("lax.") for n in graph.nodes)),
        dtype_peaks={r: _peak(device, r) for r in sorted(peaks)},
        unfused_s=fidelities.unfused_s, fused_s=fidelities.fused_s, cache_aware_s=fidelities.cache_aware_s,
        strict=strict, estimate_s=likely, launches=guess.launches, launch_s=guess.launch_s,
        spread=fidelities.unfused_s / fidelities.fused_s if fidelities.fused_s else None,
        limiting_roof=longest.roof, roofs=tuple(sorted(roofs, key=lambda r: -r.seconds)), flop=dict(served),
        arithmetic_intensity=all_flop / moved if moved else None,
        ridge_flop_per_byte=widest / device.dram_bandwidth.value, terms=terms,
        headroom=_headroom(measured_s, fidelities.fused_s, fidelities.unfused_s), memory=memory(graph, device),
        energy_j=device.power.value * likely if device.power else None,
        **_utilisation(full, device, measured_s))


def _strictly(graph: Graph, items: list[Priced], calls: list[_Call], device: Device, ruling: Ruling) -> Fidelities:
    return _fidelities(graph, items, calls, device, ruling)[0]


def _fidelities(graph: Graph, items: Sequence[Priced], calls: Sequence[_Call], device: Device,
                ruling: Ruling) -> tuple[Fidelities, list[Roof]]:
    """The three bounds, and the roofs of the fused one."""
    fused = aware = 0.0
    roofs: list[Roof] = []
    for call in calls:
        mine = [i for i in items if i.node.phase == call.phase]
        amounts: Counter[str] = Counter()
        for item in mine:
            amounts.update(_served(item, device))
            amounts[SPECIAL] += item.special
        moved = _cold(call, device, ruling)
        sent = sum(linked(i, device) for i in mine)
        here = [_roof(device, call.phase, roof, n) for roof, n in amounts.items() if n]
        here += [_roof(device, call.phase, DRAM, moved), *([_roof(device, call.phase, LINK, sent)] if sent else [])]
        if device.caches[-1].bandwidth is not None:
            here.append(_roof(device, call.phase, LLC, _through_last_level(call, device)))
        slowest = max(r.seconds for r in here)
        again = 0.0 if ruling.any_algorithm else extra_for_call(graph, mine, call.outside, call.bytes, device)
        fused += slowest
        aware += max(slowest, (moved + again) / device.dram_bandwidth.value)
        roofs += here
    unfused = sum(_times(graph, item, device, ruling)[1] for item in items)
    unfused = max(unfused, fused)  # of warm caches, and where one operator's sum is rounded otherwise
    return Fidelities(fused_s=fused, cache_aware_s=min(aware, unfused), unfused_s=unfused), roofs


def _cold(call: _Call, device: Device, ruling: Ruling) -> int:
    """Bytes that cross DRAM: all of them cold; warm, what exceeds the last-level cache, on the way in and out."""
    if not ruling.warm:
        return call.bytes
    room = int(device.caches[-1].capacity.value)
    return sum(max(0, sum(t.bytes for t in call.transfers if t.way == way) - room) for way in ("in", "out"))


def _through_last_level(call: _Call, device: Device) -> int:
    """Bytes that pass the last-level cache on the way in and out, wherever they were before: all that a call moves but
    what the levels above it can hold."""
    above = int(sum(cache.capacity.value for cache in device.caches[:-1]))
    return sum(max(0, sum(t.bytes for t in call.transfers if t.way == way) - above) for way in ("in", "out"))


def _roof(device: Device, phase: Phase, roof: str, amount: float) -> Roof:
    rate = _rate(device, roof)
    return Roof(roof=roof, phase=phase, amount=round(amount), peak=rate, seconds=amount / rate)


def _rate(device: Device, roof: str) -> float:
    """Amount per second of a roof by the name of the unit that serves it."""
    if roof == DRAM:
        return device.dram_bandwidth.value
    if roof == LLC:
        bandwidth = device.caches[-1].bandwidth
        return bandwidth.value if bandwidth is not None else float("inf")
    if roof == LINK:
        return device.interconnect.bandwidth if device.interconnect else float("inf")
    if roof == SPECIAL:
        own = device.peaks[SPECIAL].value if SPECIAL in device.peaks else 0.0
        return own + device.peak("vector.fp32") / EMULATED
    return device.peak(roof)


def _served(item: Priced, device: Device) -> Counter[str]:
    """FLOP by the unit of the device that serves them."""
    served: Counter[str] = Counter()
    for roof, n in item.flop.items():
        served[device.serves(roof)] += n
    return served


def _times(graph: Graph, item: Priced, device: Device, ruling: Ruling) -> tuple[str, float, float]:
    """The slowest roof of one operator as a kernel of its own, its seconds, and the bytes that it moves."""
    moved = item.bytes + (0.0 if ruling.any_algorithm else max(0.0, extra_for_operator(graph, item, device)))
    through = max(0.0, moved - device.caches[-1].capacity.value * 2) if ruling.warm else moved
    times = {DRAM: through / device.dram_bandwidth.value}
    for roof, n in item.flop.items():
        served = device.serves(roof)
        times[served] = times.get(served, 0.0) + n / device.peak(roof)
    if item.special:
        times[SPECIAL] = item.special / _rate(device, SPECIAL)
    if item.link_bytes:
        times[LINK] = linked(item, device) / _rate(device, LINK)
    roof = max(times, key=lambda r: times[r])
    return roof, times[roof], moved


def _term(graph: Graph, item: Priced, device: Device, ruling: Ruling, likely: float) -> Term:
    roof, seconds, moved = _times(graph, item, device, ruling)
    node = item.node
    names = {graph.by_id[root].name or root: n for root, n in item.moved.items()}
    return Term(node=node.id, op=node.op, where=node.where, phase=node.phase, repeat=node.repeat, roof=roof,
                flop=sum(item.flop.values()), flop_by_roof=_served(item, device), special=item.special,
                bytes=round(moved), link_bytes=round(linked(item, device)),
                moved=names | ({"written": item.written} if item.written else {}), seconds=seconds,
                estimate_s=max(likely, seconds), loose_by=max(likely, seconds) / seconds if seconds else None,
                less=item.work.less if item.work else "")


def _peak(device: Device, roof: str) -> PeakUsed:
    if roof == DRAM:
        return PeakUsed(per_second=device.dram_bandwidth.value, unit="byte/s", clock="memory",
                        source=device.dram_bandwidth.source)
    if roof == LLC:
        cache = device.caches[-1]
        return PeakUsed(per_second=_rate(device, LLC), unit="byte/s", clock="cache",
                        source=cache.bandwidth.source if cache.bandwidth else "no bandwidth on the sheet: no limit")
    if roof == LINK:
        link = device.interconnect
        return PeakUsed(per_second=_rate(device, LINK), unit="byte/s", clock="link",
                        source=link.source if link else "no interconnect on the sheet: no limit")
    peak = device.peaks.get(roof)
    if roof == SPECIAL:
        return PeakUsed(per_second=_rate(device, SPECIAL), unit="1/s", clock=peak.clock if peak else "boost",
                        source=f"{peak.source if peak else 'no special-function units on the sheet'}; and vector.fp32 "
                               f"at {EMULATED} FLOP each")
    assert peak is not None
    return PeakUsed(per_second=peak.value, unit=peak.unit, clock=peak.clock, source=peak.source)


def _utilisation(items: Sequence[Priced], device: Device, measured_s: float | None) -> Mapping[str, float | None]:
    """Matrix FLOP over time and the peak that they ask for: MFU without what the backward pass computes again of the
    forward pass, HFU with it (Chowdhery et al., PaLM, JMLR 2023, appendix B)."""
    if measured_s is None:
        return {"mfu": None, "hfu": None}
    seen = {_signature(i) for i in items if i.node.phase == "forward"}
    all_s = again_s = 0.0
    for item in items:
        seconds = sum(n / device.peak(roof) for roof, n in item.flop.items() if roof.startswith("tensor."))
        all_s += seconds
        if item.node.phase == "backward" and _signature(item) in seen:
            again_s += seconds
    return {"mfu": (all_s - again_s) / measured_s, "hfu": all_s / measured_s}


def _signature(item: Priced) -> tuple[object, ...]:
    return item.node.op, item.node.inputs, repr(sorted(item.node.attributes.items()))


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
