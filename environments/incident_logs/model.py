"""The structured incident that everything else is derived from: a system, what happens in it, and what it writes.

A stream of logs and the reference to judge a summary by come from one model, so that each fact of the reference has
known lines, and no fact is ever read off the logs. A cause is a function that places `Event`s on the services of a
`System`: a trigger, the first symptom, how it spreads along dependency edges, detection, mitigation, recovery. An event
writes single lines (`Emission`) and runs of many lines (`Flood`); an `Effect` makes the healthy traffic of services
slow, failing or silent for a while. Times are seconds since the epoch, UTC, true time: a service whose clock is off
writes another one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from enlist.tools.runtime.errors import EnlistError

Kind = Literal["trigger", "first_symptom", "propagation", "detection", "mitigation", "recovery"]
Level = Literal["debug", "info", "warn", "error", "fatal"]
Weight = Literal["must", "should", "nice"]
Value = str | int | float
KINDS: tuple[Kind, ...] = ("trigger", "first_symptom", "propagation", "detection", "mitigation", "recovery")
CAUSES = ("bad_deploy", "bad_config", "expired_certificate", "lock_contention", "disk_full", "memory_leak",
          "name_resolution", "dependency_outage", "retry_storm", "thundering_herd", "clock_skew", "data_corruption",
          "quota_exceeded", "partial_network_failure", "crash_loop")
"""The closed classes of cause that an answer may name, besides `unknown`."""
ROLES = ("gateway", "app", "worker", "auth", "db", "cache", "queue", "storage", "resolver", "control", "monitor",
         "external")
"""What a service is for. `control` rolls out versions, configuration and jobs, `monitor` probes and alerts, `resolver`
answers name queries, `external` belongs to somebody else and writes no logs here."""


@dataclass(frozen=True)
class Service:
    """One service. `offset_s` is how far its clock is ahead of true time, `zone_min` the zone it states, if it states
    one; `hosts` are the machines or pods it runs on; `logs` is False for what leaves no logs here."""

    name: str
    role: str
    depends_on: tuple[str, ...]
    style: str
    hosts: tuple[str, ...] = ()
    version: str = "1.0.0"
    zone_min: int = 0
    offset_s: float = 0.0
    logs: bool = True


@dataclass(frozen=True)
class System:
    """Services with their dependency edges. `wording` is 0 or 1: which set of phrases everything is written in."""

    shape: str
    services: tuple[Service, ...]
    wording: int = 0

    def __getitem__(self, name: str) -> Service:
        for service in self.services:
            if service.name == name:
                return service
        raise EnlistError("not_found", "the system has no such service", given=name,
                          allowed=", ".join(s.name for s in self.services))

    def of(self, *roles: str) -> tuple[Service, ...]:
        """Services that have one of the roles, in the order of the system."""
        return tuple(s for s in self.services if s.role in roles)

    def pick(self, rng: Random, *roles: str) -> Service:
        """One service that has one of the roles, if possible one that others depend on; where no service has such a
        role, any one that others depend on."""
        found = self.of(*roles) or tuple(s for s in self.services if s.logs)
        found = tuple(s for s in found if self.callers(s.name) or s.role == "gateway") or found
        return found[int(rng.random() * len(found))]

    def callers(self, name: str) -> tuple[Service, ...]:
        """Services that depend directly on this one."""
        return tuple(s for s in self.services if name in s.depends_on)

    def spread(self, name: str) -> tuple[Service, ...]:
        """Services that feel it when this one fails, nearest first: the callers, their callers, and so on."""
        reached: list[Service] = []
        frontier = [name]
        while frontier:
            found = [s for f in frontier for s in self.callers(f) if s not in reached and s.name != name]
            reached += list(dict.fromkeys(found))
            frontier = [s.name for s in dict.fromkeys(found)]
        return tuple(reached)

    def say(self, rng: Random, first: Sequence[str], second: Sequence[str]) -> str:
        """A phrase drawn from the set of this system's wording. It takes one draw, so that both wordings of a system
        lead to the same story."""
        phrases = second if self.wording else first
        return phrases[int(rng.random() * len(phrases))]


@dataclass(frozen=True)
class Emission:
    """One record. `fields` are written as the service's style writes fields, `fault` names an exception for a stack
    trace under the record, `tag` the fact that the record speaks of ("" takes the event's)."""

    service: str
    at: float
    level: Level
    text: str
    fields: Mapping[str, Value] = field(default_factory=dict)
    tag: str = ""
    stream: Literal["stdout", "stderr"] = "stdout"
    trace: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Flood:
    """A run of records between two times: `per_s` a second on average and at most `most` in a stream of 12,000 lines;
    longer streams have more, shorter ones fewer (`write.scale`).

    Each takes one of `texts` with its slots filled (see `slots`); `ramp` makes it start thin and grow dense, `traced`
    gives each record a trace id.
    """

    service: str
    start: float
    end: float
    level: Level
    texts: tuple[str, ...]
    per_s: float = 0.2
    most: int = 400
    ramp: bool = False
    fault: str = ""
    tag: str = ""
    traced: bool = False


@dataclass(frozen=True)
class Effect:
    """What healthy traffic suffers for a while where it passes through `service`.

    `latency` multiplies the time that a request spends there, `failing` is the share of requests that fail there (and
    so in every service that was waiting), `rate` multiplies the service's own background (0: silent). `facts` names,
    for a service, the event whose lines the spoilt request lines there are.
    """

    service: str
    start: float
    end: float
    latency: float = 1.0
    failing: float = 0.0
    rate: float = 1.0
    status: int = 503
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """Something that happens. `id` is unique in the incident, `fact` one sentence of the reference in UTC and with
    exact names, `decisive` marks what tells the cause (it is taken out for a control)."""

    id: str
    kind: Kind
    service: str
    at: float
    fact: str
    emits: tuple[Emission, ...] = ()
    floods: tuple[Flood, ...] = ()
    weight: Weight = "must"
    decisive: bool = False


@dataclass(frozen=True)
class Herring:
    """Something that looks like a cause and is none: `text` says what it is, and why it is innocent."""

    id: str
    service: str
    at: float
    text: str
    emits: tuple[Emission, ...] = ()
    floods: tuple[Flood, ...] = ()
    effects: tuple[Effect, ...] = ()
    blames: str = ""
    """The class of cause that it suggests, or ""."""


@dataclass(frozen=True)
class Incident:
    """A whole story. `component` is the service where the cause sits; `cause` one of `CAUSES`, or "" for none."""

    id: str
    cause: str
    component: str
    system: System
    events: tuple[Event, ...]
    effects: tuple[Effect, ...] = ()
    red_herrings: tuple[Herring, ...] = ()
    entities: tuple[str, ...] = ()
    seed: int = 0

    def event(self, kind: Kind) -> Event | None:
        """The earliest event of a kind."""
        return min((e for e in self.events if e.kind == kind), key=lambda e: e.at, default=None)

    def lines(self) -> Iterator[Emission]:
        """Every single record of events and herrings, with its tag; floods are not among them."""
        for source in self._sources():
            for one in source.emits:
                yield one if one.tag else tagged(one, source.id)

    def floods(self) -> Iterator[Flood]:
        """Every run of records, with its tag."""
        for source in self._sources():
            for one in source.floods:
                yield one if one.tag else tagged_flood(one, source.id)

    def _sources(self) -> tuple[Event | Herring, ...]:
        return (*self.events, *self.red_herrings)

    def all_effects(self) -> tuple[Effect, ...]:
        """The effects of the incident and of its herrings."""
        return (*self.effects, *(effect for herring in self.red_herrings for effect in herring.effects))


def tagged(one: Emission, tag: str) -> Emission:
    """The same record with a tag."""
    return Emission(one.service, one.at, one.level, one.text, one.fields, tag, one.stream, one.trace, one.fault)


def tagged_flood(one: Flood, tag: str) -> Flood:
    """The same run of records with a tag."""
    return Flood(one.service, one.start, one.end, one.level, one.texts, one.per_s, one.most, one.ramp, one.fault, tag,
                 one.traced)
