"""Answers made from the truth: the one that knows everything, and wrong ones with one fault each.

They show what the score is worth: the first must be near 1, the others low. None of them is of use as a solver.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from enlist.environments.incident_logs.reference import Fact, Reference

Answer = dict[str, Any]


def told(time_ns: float) -> str:
    """A time as an answer gives it."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat().replace("+00:00", "Z")


def right(reference: Reference) -> Answer:
    """The truth, in the form of an answer; sure of itself where the decisive lines are there."""
    total = sum(reference.lines.values())
    if not reference.incident:
        return {"incident": False, "accounting": {"lines_read": total}}
    sure = reference.control != "removed"
    trigger = reference.fact(reference.trigger)
    said = reference.said.get(reference.trigger, ("",))[0] if trigger else ""
    return {
        "incident": True, "accounting": {"lines_read": total},
        "root_cause": {"component": reference.component, "cause": reference.cause if sure else "unknown",
                       "trigger": said, "confidence": 0.9 if sure else 0.3},
        "timeline": [{"time_utc": told(f.time_ns), "service": f.service, "event": f.kind, "claim": f.text}
                     for f in reference.facts],
        "claims": [{"text": f.text, "lines": _cited(f)} for f in reference.facts if f.lines]}


def _cited(fact: Fact) -> list[dict[str, Any]]:
    name, numbers = next(iter(fact.lines.items()))
    return [{"file": name, "line": number} for number in numbers[:3]]


def _loudest(reference: Reference) -> Answer:
    """All is right but that the service with most errors is blamed."""
    answer = right(reference)
    if not answer["incident"]:
        return answer | {"incident": True}
    return _blaming(answer, reference.loudest or _other(reference))


def _shifted(reference: Reference) -> Answer:
    """Every time is an hour late, as where a zone was read wrongly."""
    answer = right(reference)
    moved = [{**m, "time_utc": told(f.time_ns + 3600e9)} for m, f in zip(
        answer.get("timeline", ()), reference.facts, strict=True)] if answer["incident"] else []
    return answer | {"timeline": moved} if moved else answer | {"incident": True}


def _wrong_service(reference: Reference) -> Answer:
    """A bystander is blamed, with right lines."""
    answer = right(reference)
    return _blaming(answer, _other(reference)) if answer["incident"] else answer | {"incident": True}


def _invented(reference: Reference) -> Answer:
    """Every sentence names a host and a version that occur nowhere."""
    answer = right(reference)
    claims = [{**c, "text": f"{c['text']} It ran on zz9-host-{n}x with 99.{n}.77."}
              for n, c in enumerate(answer.get("claims", ()))]
    return answer | {"claims": claims} if claims else answer | {"incident": True}


def _herring(reference: Reference) -> Answer:
    """A herring is blamed, in its own words."""
    answer = right(reference)
    if not answer["incident"] or not reference.red_herrings:
        return answer | {"incident": not answer["incident"]}
    herring = reference.red_herrings[0]
    said = reference.said.get(herring.id, ("",))[0]
    return answer | {"root_cause": {"component": herring.service, "cause": herring.blames or "unknown",
                                    "trigger": said, "confidence": 0.9}}


def _never(reference: Reference) -> Answer:
    """Nothing ever happened, and nothing was read."""
    return {"incident": False, "accounting": {"lines_read": 0}}


def _blaming(answer: Answer, service: str) -> Answer:
    return answer | {"root_cause": {**answer["root_cause"], "component": service, "confidence": 0.95}}


def _other(reference: Reference) -> str:
    touched = {fact.service for fact in reference.facts} | {reference.component, reference.loudest}
    return next((s for s in reference.services if s not in touched), reference.services[0])


WRONG: Mapping[str, Callable[[Reference], Answer]] = {
    "loudest symptom": _loudest, "shifted time": _shifted, "wrong service": _wrong_service,
    "hallucinated entity": _invented, "herring as cause": _herring, "no incident always": _never}
