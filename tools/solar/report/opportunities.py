"""What could make a model faster, ranked by the time it could save.

Four kinds. `gap`: an operator was measured (else: is estimated) above its own bound. `fusion`: what an operator's
unfused time exceeds its share of the fused bound by; these gains add up to unfused - fused. `precision`: the fused
bound with the floating tensors in a smaller dtype (another model, as far as numerics go). `launches`: what the estimate
spends on starting kernels. A saving is a difference of bounds, or of a time and a bound: nobody saves more, and most
save less.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from enlist.tools.solar.graph import Graph, Phase
from enlist.tools.solar.pricing.model import Bounds, DeviceBounds, Term
from enlist.tools.solar.profiles.join import Joined
from enlist.tools.solar.report.amounts import duration
from enlist.tools.solar.report.spelling import spelled

Kind = Literal["gap", "fusion", "precision", "launches"]
MEANING: Mapping[Kind, str] = {
    "gap": "a kernel nearer to its own roof",
    "fusion": "fused with its neighbours, so that what lies between stays on chip",
    "precision": "floating tensors in that dtype; it changes results",
    "launches": "fewer kernels, or a CUDA graph; part of the estimate, of no bound"}
"""What is meant by a kind, for a page that says it once."""

_LEAST_SHARE = 0.005  # of the largest saving; less is noise on a page


@dataclass(frozen=True)
class Opportunity:
    """At most `saves_s` seconds of one run, by doing `how` to `what`."""

    kind: Kind
    what: str
    saves_s: float
    how: str


def opportunities(graph: Graph, made: Bounds, place: int, joined: Joined | None = None,
                  cheaper: Sequence[tuple[str, float]] = ()) -> tuple[Opportunity, ...]:
    """The opportunities on one device, the largest first.

    Args:
        place: which of the devices of `made`.
        joined: a profile, for the gaps of single operators.
        cheaper: dtypes with the fused bound in each, in seconds.
    """
    one = made.devices[place]
    found = [*(_gaps(joined) if joined else _estimated_gaps(one)), *_fusion(graph, made, one),
             *_precision(one, cheaper), *_launches(one)]
    found.sort(key=lambda o: -o.saves_s)
    return tuple(o for o in found if o.saves_s > 0 and o.saves_s >= _LEAST_SHARE * found[0].saves_s)


def fusion_gains(graph: Graph, made: Bounds, one: DeviceBounds) -> list[float]:
    """Seconds that fusion could save at each term; they add up to unfused - fused.

    A term's share of the fused bound is the part of its phase's deciding roof that is its own: its time where that roof
    decides the term too, its part of the transfers (split evenly among the operators that touch a tensor) where DRAM
    does.
    """
    deciding = {phase: max((r for r in one.roofs if r.phase == phase), key=lambda r: r.seconds)
                for phase in {r.phase for r in one.roofs}}
    moved = _moved(graph, made, {t.node: t.phase for t in one.terms})

    def share(term: Term) -> float:
        roof = deciding.get(term.phase)
        if roof is None:
            return 0.0
        if roof.roof == "dram":
            return min(term.seconds, moved[term.node] / roof.peak)
        return term.seconds if term.roof == roof.roof else 0.0

    gains = [term.seconds - share(term) for term in one.terms]
    total, whole = sum(gains), max(0.0, one.unfused_s - one.fused_s)
    return [gain * whole / total for gain in gains] if total else gains


def _moved(graph: Graph, made: Bounds, priced: Mapping[str, Phase]) -> dict[str, float]:
    """Bytes of the fused transfers by the node that they are charged to."""
    touching: dict[tuple[str, Phase], list[str]] = defaultdict(list)
    for node in graph.nodes:
        if node.id in priced:
            for root in {graph.root(t) for t in (*node.inputs, *node.outputs)}:
                touching[root, priced[node.id]].append(node.id)
    moved: dict[str, float] = defaultdict(float)
    for transfer in made.transfers:
        nodes = touching.get((transfer.tensor, transfer.phase), [])
        for node_id in nodes:
            moved[node_id] += transfer.bytes / len(nodes)
    return moved


def _fusion(graph: Graph, made: Bounds, one: DeviceBounds) -> list[Opportunity]:
    saved: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for term, gain in zip(one.terms, fusion_gains(graph, made, one), strict=True):
        saved[spelled(term.op)] += gain
        counts[spelled(term.op)] += 1
    return [Opportunity("fusion", _many(counts[op], op), seconds,
                        "fuse with its neighbours, so that what lies between stays on chip")
            for op, seconds in saved.items()]


def _estimated_gaps(one: DeviceBounds) -> list[Opportunity]:
    saved: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for term in one.terms:
        saved[spelled(term.op)] += max(0.0, term.estimate_s - term.seconds)
        counts[spelled(term.op)] += 1
    measured = one.headroom.measured_s  # all gaps together are no wider than the whole
    most = max(0.0, measured - one.fused_s) if measured is not None else inf
    return [Opportunity("gap", _many(counts[op], op), min(seconds, most),
                        "estimated above its bound; a profile would tell more") for op, seconds in saved.items()]


def _gaps(joined: Joined) -> list[Opportunity]:
    saved: defaultdict[str, float] = defaultdict(float)
    measured: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for row in joined.rows:
        saved[row.op] += max(0.0, row.measured_s - row.bound_s)
        measured[row.op] += row.measured_s
        counts[row.op] += len(row.terms)
    return [Opportunity("gap", _many(counts[op], op), seconds,
                        f"measured {duration(measured[op])}: a kernel nearer to its roof")
            for op, seconds in saved.items()]


def _precision(one: DeviceBounds, cheaper: Sequence[tuple[str, float]]) -> list[Opportunity]:
    return [Opportunity("precision", dtype, one.fused_s - fused,
                        f"fused bound {duration(fused)} with floating tensors in {dtype}; changes results")
            for dtype, fused in cheaper if fused < one.fused_s]


def _launches(one: DeviceBounds) -> list[Opportunity]:
    return [Opportunity("launches", f"{one.launches} kernel launches", one.launch_s,
                        "fewer kernels, or a CUDA graph; part of the estimate, of no bound")]


def _many(count: int, op: str) -> str:
    return f"{count} x {op}" if count > 1 else op
