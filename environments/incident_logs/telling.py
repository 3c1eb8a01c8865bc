"""Telling a story: what all causes have in common, so that a cause holds only what is its own.

A `Story` collects events and effects. `spread` lets the failure of a service reach those that depend on it, nearest
first, in the words of callers, which name the neighbour that fails them and not the cause; `detect`, `mitigate` and
`recover` end it. Who calls a broken service is louder than the service itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Literal

from enlist.environments.incident_logs.model import (
    Effect,
    Emission,
    Event,
    Flood,
    Incident,
    Kind,
    Level,
    Service,
    System,
    Value,
    Weight,
)

Mode = Literal["slow", "refused", "errors"]
_FAULTS: dict[Mode, str] = {"slow": "DeadlineExceeded", "refused": "ConnectFailed", "errors": "BadReply"}
_CALLS: dict[Mode, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "slow": (("call to {peer} failed: deadline of {ms}00 ms exceeded", "{peer} did not answer within {ms}00 ms",
              "timed out waiting for {peer} after {ms}00 ms ({path})"),
             ("no word from {peer} in {ms}00 ms, abandoned {path}", "{ms}00 ms are over and {peer} is still silent",
              "abandoning request {id}: {peer} takes too long")),
    "refused": (("connect to {peer} failed: connection refused", "no healthy endpoint of {peer} for {path}",
                 "cannot open connection to {peer} ({ip}:{port}), attempt {try}"),
                ("{peer} refuses connections", "nothing listens for us at {peer} ({ip})",
                 "could not reach {peer} in {try} attempts")),
    "errors": (("{peer} replied 500 to {path}", "request {id} failed: bad reply of {peer}",
                "unexpected status 503 of {peer}, request {id}"),
               ("{path} came back from {peer} with 500", "{peer} could not serve {id}",
                "status 503 by {peer} where 200 was due ({id})"))}
_GATE: dict[Mode, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "slow": (("upstream {peer} timed out while reading response header, client {ip}, request {path}",),
             ("gave up on upstream {peer}, {path} of {ip} ends with 504",)),
    "refused": (("no live upstreams while connecting to {peer}, client {ip}, request {path}",),
                ("upstream {peer} is not there, {ip} gets 502 for {path}",)),
    "errors": (("upstream {peer} sent an error for {path}, client {ip}",),
               ("passing on an error of upstream {peer} to {ip} ({path})",))}


def utc(at: float) -> str:
    """A time as facts say it."""
    return f"{datetime.fromtimestamp(round(at), UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass
class Story:
    """A story about a component, under way. `at` is when the trigger happens; `pace` shortens all delays where the
    window is short. In one of five stories the component is `loud`: its runs of records are errors, and many."""

    system: System
    rng: Random
    start: float
    span: float
    cause: str
    component: Service
    events: list[Event] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at = self.start + self.rng.uniform(0.35, 0.55) * self.span
        self.pace = min(1.0, self.span / 7200)
        self.loud = self.rng.random() < 0.2

    def after(self, at: float, low: float, high: float) -> float:
        """A time between `low` and `high` seconds (at full pace) after another."""
        return at + self.rng.uniform(low, high) * self.pace

    def say(self, first: Sequence[str], second: Sequence[str], **values: Value) -> str:
        """A phrase in the wording of the system, with `{name}` replaced by values."""
        text = self.system.say(self.rng, first, second)
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def line(self, service: Service, at: float, level: Level, text: str, fault: str = "", **fields: Value) -> Emission:
        """One record; its trace id and stream are left to the writer."""
        return Emission(service.name, at, level, text, fields, fault=fault)

    def add(self, kind: Kind, service: Service, at: float, fact: str, *, emits: Sequence[Emission] = (),
            floods: Sequence[Flood] = (), weight: Weight = "must", decisive: bool = False) -> str:
        """An event, with an id that is made of its kind and number; gives the id."""
        name = f"{kind}-{len(self.events)}"
        self.events.append(Event(name, kind, service.name, at, fact, tuple(emits), tuple(floods), weight, decisive))
        return name

    def flood(self, service: Service, start: float, end: float, level: Level, first: Sequence[str],
              second: Sequence[str], *, per_s: float = 0.2, most: int = 120, ramp: bool = False, fault: str = "",
              **values: Value) -> Flood:
        """A run of records in the wording of the system; `{name}` is replaced by values, other slots line by line."""
        texts = list(second if self.system.wording else first)
        for name, value in values.items():
            texts = [text.replace(f"{{{name}}}", str(value)) for text in texts]
        if self.loud and service is self.component:
            level, per_s, most = "error", per_s * 5, most * 5
        return Flood(service.name, start, end, level, tuple(texts), per_s, most, ramp, fault, traced=True)

    def spread(self, at: float, end: float, mode: Mode, *, failing: float = 0.4, latency: float = 1.0,
               most: int = 4, source: Service | None = None, symptom: str = "") -> float:
        """Let those that depend on the component (or on `source`) feel it; gives when the last one began to.

        Each names the neighbour through which the failure reached it. `symptom` is the event that spoilt request lines
        of the source itself speak of.
        """
        source = source or self.component
        reached: list[Service] = [source]
        facts = {source.name: symptom} if symptom else {}
        begins = at
        for service in self.system.spread(source.name)[:most + 2]:
            peers = [r for r in reached if r.name in service.depends_on]
            if not service.logs or not peers or len(reached) > most:
                continue
            begins, peer = self.after(begins, 2, 25), peers[0]
            table = _GATE if service.role == "gateway" else _CALLS
            first, second = table[mode]
            loud = self.flood(service, begins, end, "error", first, second, per_s=self.rng.uniform(0.12, 0.4),
                              most=170, fault=_FAULTS[mode], peer=peer.name)
            verb = {"slow": "waits in vain for", "refused": "cannot reach", "errors": "gets errors from"}[mode]
            facts[service.name] = self.add(
                "propagation", service, begins, f"From {utc(begins)} {service.name} {verb} {peer.name}.",
                floods=(loud,), weight="must" if len(reached) < 3 else "should")
            reached.append(service)
        status = {"slow": 504, "refused": 502, "errors": 500}[mode]
        self.effects.append(Effect(source.name, begins, end, latency, failing, 1.0, status, facts))
        return begins

    def detect(self, at: float) -> None:
        """The monitor raises an alert on what users meet, not on the cause."""
        monitor = self.system.pick(self.rng, "monitor")
        gate = self.system.pick(self.rng, "gateway")
        share = 5 + int(self.rng.random() * 60)
        text = self.say(("alert firing: share of failed requests at {gate} is {share} of 100",
                         "paging on-call: {gate} serves {share} failures per 100 requests"),
                        ("{share} of 100 requests at {gate} end badly, calling whoever is on duty",
                         "alarm: {gate} loses {share} in 100"), gate=gate.name, share=share)
        self.add("detection", monitor, at, f"At {utc(at)} {monitor.name} raised an alert on failed requests at "
                 f"{gate.name}.", emits=(self.line(monitor, at, "warn", text),), weight="should")

    def mitigate(self, service: Service, at: float, fact: str, *emits: Emission) -> None:
        """What was done against it; it mostly gives the cause away, so it counts as decisive."""
        self.add("mitigation", service, at, fact, emits=emits, weight="should", decisive=True)

    def recover(self, at: float, first: Sequence[str] = (), second: Sequence[str] = (), **values: Value) -> None:
        """The component is well again, and the monitor says so a little later."""
        first = first or ("ready, serving again", "back to normal operation")
        second = second or ("all well again here", "working as usual from now on")
        if self.component.logs:
            said = self.say(first, second, **values)
            self.add("recovery", self.component, at, f"At {utc(at)} {self.component.name} was well again.",
                     emits=(self.line(self.component, at, "info", said),), weight="should", decisive=True)
        monitor, later = self.system.pick(self.rng, "monitor"), self.after(at, 30, 90)
        text = self.say(("alert cleared: failed requests back below threshold", "incident alert closed automatically"),
                        ("failures are down to the usual, alarm off", "alarm withdrawn"))
        self.add("recovery", monitor, later, f"At {utc(later)} {monitor.name} saw failures back at their usual level.",
                 emits=(self.line(monitor, later, "info", text),), weight="nice" if self.component.logs else "should")

    def incident(self, name: str = "") -> Incident:
        """The whole story."""
        return Incident(name or self.cause, self.cause, self.component.name, self.system,
                        tuple(sorted(self.events, key=lambda e: e.at)), tuple(self.effects),
                        entities=tuple(self.entities))
