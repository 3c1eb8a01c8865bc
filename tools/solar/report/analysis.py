"""One analysis: a graph, priced on the device that was asked for and on others, with all that is asked beside it.

Pure: the graph comes captured, the profile read. The same analysis becomes JSON (`entry`), a terminal view and a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import Device, devices
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pricing.model import Bounds, DeviceBounds
from enlist.tools.solar.pricing.ruling import Ruling
from enlist.tools.solar.profiles.activity import Profile
from enlist.tools.solar.profiles.join import Joined, join
from enlist.tools.solar.report.opportunities import Opportunity, opportunities
from enlist.tools.solar.report.provisioning import Demand, Provision, provision

DEFAULTS = Ruling()
_HALVES = ("bfloat16", "float16")
_SMALLER = ("bfloat16", "float8_e4m3fn")


@dataclass(frozen=True)
class Question:
    """What is asked of every file: the first of `devices` is the one, the others are compared with it."""

    devices: tuple[Device, ...]
    dtype: str | None = None
    ruling: Ruling = DEFAULTS
    measured_s: float | None = None
    profile: Profile | None = None
    demand: Demand | None = None


@dataclass(frozen=True)
class Swept:
    """The bounds at one size of each swept dimension, or why there are none."""

    at: tuple[tuple[str, int], ...]
    bounds: Bounds | EnlistError

    @property
    def dimensions(self) -> str:
        """The names of what is swept: "batch, length"."""
        return ", ".join(name for name, _ in self.at)

    @property
    def sizes(self) -> str:
        """The size of each: "8, 512"."""
        return ", ".join(str(size) for _, size in self.at)


@dataclass(frozen=True)
class Analysis:
    """The answers about one graph: `sweep` are those at other sizes, `unverified` the devices whose sheets nobody has
    checked against two documents; the devices beside the first stand in order of their fused bounds."""

    file: str
    label: str
    graph: Graph
    bounds: Bounds
    joined: Joined | None
    opportunities: tuple[Opportunity, ...]
    sweep: tuple[Swept, ...] = ()
    unverified: frozenset[str] = frozenset()
    provision: Provision | None = None

    @property
    def one(self) -> DeviceBounds:
        """The bounds on the device that was asked for."""
        return self.bounds.devices[0]

    @property
    def title(self) -> str:
        """The target and, of several workloads, which one."""
        return f"{self.bounds.target} {self.label}".strip()


def analyse(graph: Graph, asked: Question, file: str = "", label: str = "",
            swept: Sequence[tuple[tuple[tuple[str, int], ...], Graph | EnlistError]] = ()) -> Analysis:
    """Price a graph and answer what is asked."""
    def priced(one: Graph, on: Sequence[Device], measured_s: float | None = None,
               dtype: str | None = asked.dtype) -> Bounds:
        return bounds(one, on, measured_s, dtype, asked.ruling)

    measured_s, joined = asked.measured_s, None
    if asked.profile is not None:
        terms = priced(graph, asked.devices[:1]).devices[0].terms
        joined = join(asked.profile, graph, terms)
        measured_s = joined.total_s or None
    made = priced(graph, asked.devices, measured_s)
    beside = sorted(made.devices[1:], key=lambda d: d.fused_s)
    made = made.model_copy(update={"devices": (made.devices[0], *beside)})
    cheaper = [(d, priced(graph, asked.devices[:1], dtype=d).devices[0].fused_s) for d in _smaller(graph, asked)]
    return Analysis(file, label, graph, made, joined, opportunities(graph, made, 0, joined, cheaper),
                    tuple(Swept(at, one if isinstance(one, EnlistError) else priced(one, asked.devices[:1]))
                          for at, one in swept),
                    frozenset(d.name for d in asked.devices if not d.verified), _provision(graph, asked))


def _provision(graph: Graph, asked: Question) -> Provision | None:
    """What the demand asks of the devices named, and of everything known."""
    if asked.demand is None:
        return None
    known = {d.name: d for d in (*asked.devices, *devices())}
    made = bounds(graph, known.values(), None, asked.dtype, asked.ruling)
    return provision(graph, made, asked.demand, {name: d.dram_capacity.value for name, d in known.items()})


def _smaller(graph: Graph, asked: Question) -> list[str]:
    """Dtypes that are smaller than the widest of the graph's floating ones, and that the device has units for."""
    found = {t.dtype for t in graph.tensors}
    if asked.dtype or not found & {*_HALVES, "float32", "float64"}:
        return []
    peaks = asked.devices[0].peaks
    return [d for d in _SMALLER if f"tensor.{'bf16' if d == 'bfloat16' else 'fp8'}" in peaks
            and (d not in _HALVES or found & {"float32", "float64"})]


def entry(made: Analysis) -> dict[str, Any]:
    """The analysis as JSON for scripts; the page docs/speed-of-light.md says what each key means."""
    one = made.one.model_dump(mode="json")
    every = made.bounds.model_dump(mode="json", exclude={"devices"})
    document: dict[str, Any] = {
        "file": made.file, "target": made.bounds.target, "workload": made.label or None,
        "device": one["device"], "verified": one["device"] not in made.unverified,
        "class": one["cls"], "dtype_peaks": one["dtype_peaks"],
        "bounds": _fidelities(one), "estimate_s": one["estimate_s"], "limiting_roof": one["limiting_roof"],
        "flop": {"total": sum(one["flop"].values()), "by_roof": one["flop"]},
        "bytes": {"unfused": sum(t["bytes"] for t in one["terms"]), "fused": every["fused_bytes"]},
        "terms": one["terms"], "coverage": every["coverage"],
        "assumed": every["assumed"], "unmodelled": every["unmodelled"],
        "headroom": one["headroom"], "roofs": one["roofs"], "transfers": every["transfers"],
        "opportunities": [vars(o) for o in made.opportunities]}
    document |= {key: one[key] for key in ("strict", "launches", "launch_s", "memory", "energy_j", "mfu", "hfu")}
    if len(made.bounds.devices) > 1:
        document["compare"] = [{**_short(d), "verified": d.device not in made.unverified} for d in made.bounds.devices]
    if made.sweep:
        document["sweep"] = [_at(s) | _point(s.bounds) for s in made.sweep]
    if made.provision is not None:
        found = vars(made.provision)
        document["provision"] = {**found, "devices": [vars(e) for e in made.provision.devices]}
    if made.joined is not None:
        document["profile"] = _profile(made.joined)
    return document


def told(fault: EnlistError) -> dict[str, str | None]:
    """A fault as JSON: what happened, what was given and allowed, and always something to do."""
    return {"code": fault.code, "message": fault.message, "given": fault.given, "allowed": fault.allowed,
            "fix": fault.fix or ("see what is allowed" if fault.allowed else "see that the file runs by itself")}


def _at(swept: Swept) -> dict[str, Any]:
    """Where a point of a sweep is; of one dimension also by the names `dimension` and `size`."""
    named = {"dimension": swept.at[0][0], "size": swept.at[0][1]} if len(swept.at) == 1 else {}
    return named | {"at": dict(swept.at)}


def _point(made: Bounds | EnlistError) -> dict[str, Any]:
    if isinstance(made, EnlistError):
        return {"error": told(made)}
    return {**_short(made.devices[0]), "flop": sum(made.flop.values()),
            "bytes": {"unfused": sum(t.bytes for t in made.devices[0].terms), "fused": made.fused_bytes}}


def _fidelities(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("unfused_s", "fused_s", "cache_aware_s")}


def _short(device: DeviceBounds) -> dict[str, Any]:
    one = device.model_dump(mode="json", exclude={"terms"})
    return {"device": one["device"], "bounds": _fidelities(one), "estimate_s": one["estimate_s"],
            "limiting_roof": one["limiting_roof"]}


def _profile(joined: Joined) -> dict[str, Any]:
    return {"file": joined.profile, "kind": joined.kind, "steps": joined.steps, "total_s": joined.total_s,
            "on_device": joined.on_device, "joined_share": joined.joined_share,
            "operators": [{"op": r.op, "where": r.where, "measured_s": r.measured_s, "bound_s": r.bound_s,
                           "headroom": r.headroom, "joined_by": r.level, "terms": list(r.terms)} for r in joined.rows],
            "unjoined": [vars(left) for left in joined.unjoined]}
