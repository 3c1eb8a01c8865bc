"""Does a generated stream hold what its reference says? Checks that need no judge, from the files and the model.

A stream that fails one is a fault of the generator, whoever wrote the cause: `problems` gives all of them as sentences.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from enlist.environments.incident_logs.clock import RESOLUTION
from enlist.environments.incident_logs.decoding import decode
from enlist.environments.incident_logs.model import CAUSES, Event, Incident
from enlist.environments.incident_logs.reference import Fact, Reference
from enlist.environments.incident_logs.write import records

_TOLD = re.compile("|".join((r"root cause", r"incident cause", *(c.replace("_", "[ _-]") for c in CAUSES))), re.I)
_REQUEST = re.compile(r"^[A-Z]+ /\S* \d{3}")
_MOST_READ = 40


def problems(incident: Incident, reference: Reference, folder: Path, *, start: float, span: float,
             lines: int) -> list[str]:
    """What is wrong with a stream; an empty list where nothing is."""
    texts = {name: (folder / name).read_text(encoding="utf-8").split("\n")[:-1] for name in reference.lines}
    found = [f"{name} has {len(texts[name])} lines, not {count}" for name, count in reference.lines.items()
             if len(texts[name]) != count]
    for fact in reference.facts:
        found += _of_fact(fact, reference, incident, texts)
    if reference.control in ("none", "shuffled"):
        found += _entities(reference, texts)
    return [*found, *_order(incident), *_inside(incident, start, span),
            *_background(incident, start=start, span=span, lines=lines)]


def _of_fact(fact: Fact, reference: Reference, incident: Incident, texts: Mapping[str, list[str]]) -> Iterator[str]:
    if not fact.lines:
        if fact.weight == "must":
            yield f"{fact.id} is a must and has no lines"
        return
    numbers = [(name, n) for name, all_numbers in fact.lines.items() for n in all_numbers]
    outside = [f"{name}:{n}" for name, n in numbers if not 1 <= n <= len(texts[name])]
    if outside:
        yield f"{fact.id} has lines outside of the files: {outside[:3]}"
        return
    written = [texts[name][n - 1] for name, n in numbers]
    for said in reference.said[fact.id]:
        core = said if not _REQUEST.match(said) else said.split(" ")[1]
        if not any(core in line or json.dumps(core, ensure_ascii=False)[1:-1] in line for line in written) and not (
                len(core) > 60):  # a container runtime splits long lines
            yield f"{fact.id}: none of its lines says {said!r}"
    times = list(_times(fact, incident, texts, reference.control == "shuffled"))
    first, slack = min(times, default=(0.0, 0.0))
    if times and abs(first - fact.time_ns / 1e9) > slack:
        yield f"{fact.id} is at {fact.time_ns / 1e9:.3f}, its first line at {first:.3f}"


def _times(fact: Fact, incident: Incident, texts: Mapping[str, list[str]], shuffled: bool) -> Iterator[
        tuple[float, float]]:
    """True times of a fact's lines as decoded, with the error that the style allows."""
    for name, numbers in fact.lines.items():
        owner = max((s for s in incident.system.services if name.startswith(s.name)), key=lambda s: len(s.name))
        for n in numbers if shuffled else (*numbers[:_MOST_READ], *numbers[_MOST_READ::50]):
            at = decode(texts[name][n - 1], owner.style, fact.time_ns / 1e9)
            if at is not None:
                yield at - owner.offset_s, RESOLUTION[owner.style] + 2e-3


def _entities(reference: Reference, texts: Mapping[str, list[str]]) -> Iterator[str]:
    for entity in reference.entities:
        if not any(entity in line for all_lines in texts.values() for line in all_lines):
            yield f"the entity {entity!r} occurs in no line"


def _order(incident: Incident) -> Iterator[str]:
    """Trigger, symptom and spread follow one another, and spread follows dependency edges."""
    system, seen = incident.system, list[Event]()
    firsts = [incident.event(kind) for kind in ("trigger", "first_symptom", "propagation")]
    known = [e for e in firsts if e is not None]
    if incident.cause and (firsts[0] is None or firsts[1] is None):
        yield "a story needs a trigger and a first symptom"
    for early, late in pairwise(known):
        if early.at > late.at:
            yield f"{late.id} comes before {early.id}"
    for event in sorted(incident.events, key=lambda e: e.at):
        if event.kind == "propagation" and not any(_reaches(incident, s.service, event.service) for s in seen):
            yield f"{event.id}: nothing that {event.service} depends on had failed before"
        if event.kind in ("trigger", "first_symptom", "propagation"):
            seen.append(event)
    ends = [e for e in incident.events if e.kind in ("mitigation", "recovery")]
    begins = max((e.at for e in incident.events if e.kind == "first_symptom"), default=0.0)
    yield from (f"{e.id} comes before the last first symptom" for e in ends if e.at < begins)
    yield from (f"{event.id} happens at {name}, which there is not" for event in incident.events
                for name in [event.service] if name not in {s.name for s in system.services})


def _reaches(incident: Incident, source: str, target: str) -> bool:
    """Whether a failure of the source can be felt at the target. Failure goes to callers; load goes from a service and
    from its callers to what they depend on; names, control and the network are everybody's."""
    system = incident.system
    loaded = {need for s in (system[source], *system.callers(source)) for need in s.depends_on}
    return (source == target or target in loaded or system[target] in system.spread(source)
            or incident.cause in _EVERYWHERE or system[source].role in ("resolver", "control"))


_EVERYWHERE = ("partial_network_failure", "clock_skew")
"""Causes that reach services past their dependency edges."""


def _inside(incident: Incident, start: float, span: float) -> Iterator[str]:
    for event in incident.events:
        if not start <= event.at <= start + span:
            yield f"{event.id} at {event.at:.0f} is outside of the window"


def _background(incident: Incident, *, start: float, span: float, lines: int) -> Iterator[str]:
    """No text of a fact occurs among the lines of nothing, and none names the class of the cause."""
    facts = {e.id for e in incident.events}
    gold, other = set[str](), set[str]()
    for one in records(incident, start=start, span=span, lines=lines):
        (gold if one.tag in facts else other).add(one.text)
    told = [text for text in gold | other if _TOLD.search(text)]
    yield from (f"a text names a class of cause: {text!r}" for text in told)
    yield from (f"the background says what a fact says: {text!r}" for text in gold & other
                if not _REQUEST.match(text))
