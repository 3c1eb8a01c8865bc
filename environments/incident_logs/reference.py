"""What an answer is judged by: derived from the incident model, with the lines that the writer put each fact on."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from enlist.environments.incident_logs.clock import RESOLUTION
from enlist.environments.incident_logs.model import Event, Incident, Kind, Weight

Control = Literal["none", "no_incident", "removed", "shuffled"]
"""`none`: a plain task; `no_incident`: nothing but healthy traffic and herrings; `removed`: the decisive lines are not
there; `shuffled`: each file's records are in random order."""
Lines = Mapping[str, tuple[int, ...]]
"""Line numbers, from 1, by name of file; all physical lines of a record."""


SOON_S = 30.0


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fact(_Strict):
    """One fact: true UTC time in ns, until when its single records go on where they follow within half a minute, how
    far off a time may be (s), and the lines that say it."""

    id: str
    weight: Weight
    kind: Kind
    service: str
    time_ns: int
    until_ns: int
    tolerance_s: float
    text: str
    decisive: bool
    lines: dict[str, tuple[int, ...]]


class Decoy(_Strict):
    """A red herring, the service it is about, the class of cause that it suggests, and its lines."""

    id: str
    text: str
    service: str
    blames: str
    lines: dict[str, tuple[int, ...]]


class Reference(_Strict):
    """The truth of one stream. `loudest` is the service with most error records, where it is not the component;
    `said` maps a fact to the messages on its lines (as many as 20), `lines` a file to how many lines it has."""

    incident: bool
    component: str
    cause: str
    trigger: str = Field(description="id of the fact")
    facts: tuple[Fact, ...]
    red_herrings: tuple[Decoy, ...]
    entities: tuple[str, ...]
    services: tuple[str, ...]
    loudest: str
    control: Control
    said: dict[str, tuple[str, ...]]
    lines: dict[str, int]
    start_ns: int
    end_ns: int

    def fact(self, name: str) -> Fact | None:
        """The fact with this id, if it is among the facts."""
        return next((fact for fact in self.facts if fact.id == name), None)


def _until(event: Event) -> float:
    """When the last single record of an event comes, of those that follow within `SOON_S`."""
    return max((one.at for one in event.emits if event.at <= one.at <= event.at + SOON_S), default=event.at)


def derive(incident: Incident, gold: Mapping[str, Lines], said: Mapping[str, tuple[str, ...]], lines: Mapping[str, int],
           errors: Mapping[str, int], window: tuple[float, float], control: Control) -> Reference:
    """The reference of an incident whose records were written on the lines `gold`, by tag.

    A decisive fact is left out where its lines were.
    """
    system = incident.system
    facts = []
    for event in sorted(incident.events, key=lambda e: e.at):
        if control == "removed" and event.decisive:
            continue
        written = {one.service for one in event.emits} | {one.service for one in event.floods} or {event.service}
        tolerance = max(max(1.0, RESOLUTION[system[name].style]) + abs(system[name].offset_s) for name in written)
        facts.append(Fact(
            id=event.id, weight=event.weight, kind=event.kind, service=event.service,
            time_ns=round(event.at * 1e6) * 1000, until_ns=round(_until(event) * 1e6) * 1000,
            tolerance_s=round(tolerance, 3), text=event.fact, decisive=event.decisive,
            lines={file: tuple(numbers) for file, numbers in gold.get(event.id, {}).items()}))
    trigger = incident.event("trigger")
    loudest = max(errors, key=lambda name: (errors[name], name), default="")
    return Reference(
        incident=bool(incident.cause), component=incident.component, cause=incident.cause or "unknown",
        trigger=trigger.id if trigger else "", facts=tuple(facts), entities=incident.entities, control=control,
        red_herrings=tuple(Decoy(id=h.id, text=h.text, service=h.service, blames=h.blames,
                                 lines={f: tuple(n) for f, n in gold.get(h.id, {}).items()})
                           for h in incident.red_herrings),
        services=tuple(s.name for s in system.services), loudest="" if loudest == incident.component else loudest,
        said=dict(said), lines=dict(lines), start_ns=round(window[0] * 1e9), end_ns=round(window[1] * 1e9))
