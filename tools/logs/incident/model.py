"""What an analysis of logs comes to."""

from dataclasses import dataclass, field
from typing import Any, Literal

from enlist.tools.logs.batch import Ref

EventKind = Literal["trigger", "first_symptom", "propagation", "detection", "mitigation", "recovery"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence and the lines that carry it; each holds the pieces of text `holds`, in this order. `verified` once
    they were read again."""

    text: str
    lines: tuple[Ref, ...]
    holds: tuple[str, ...] = ()
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A point of the timeline; `claim` is its place in the claims of the incident."""

    kind: EventKind
    service: str
    time: int
    text: str
    claim: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A component and a class of causes, with what speaks for them; confidences of all candidates add up to at most
    1."""

    component: str
    cause: str
    confidence: float
    trigger: str
    why: tuple[str, ...]
    claims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Herring:
    """Something that stands out and is not the cause, and why it was rejected."""

    text: str
    service: str
    why_rejected: str
    claim: int


@dataclass(frozen=True)
class Incident:
    """The incident model. `found` None: the logs do not decide it."""

    found: bool | None
    start: int | None = None
    end: int | None = None
    candidates: tuple[Candidate, ...] = ()
    timeline: tuple[Event, ...] = ()
    claims: tuple[Claim, ...] = ()
    herrings: tuple[Herring, ...] = ()
    impact: str = ""
    unknown: tuple[str, ...] = ()
    measures: dict[str, Any] = field(default_factory=dict)
