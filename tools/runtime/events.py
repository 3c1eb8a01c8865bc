"""Events: what the journal of a run is made of.

The journal is the truth about a run. An event is appended and never changed; `seq` counts up within a run without
gaps. An event with a `key` is unique for its run, kind and key: appending it again changes nothing.
"""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

EventKind = Literal[
    "run.accepted", "run.planned", "run.started", "run.finished", "run.interrupted",
    "attempt.opened", "stop.requested",
    "role.started", "role.finished", "role.failed", "role.reenlisted",
    "tool.started", "tool.progress", "tool.finished", "tool.failed",
    "report.started", "report.finished", "note",
]
EVENT_KINDS: tuple[str, ...] = get_args(EventKind)


class NewEvent(BaseModel):
    """An event to append. `data` is plain JSON whose shape is fixed by its kind (see docs/runs.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: EventKind
    role: str | None = None
    key: str | None = None
    data: dict[str, Any] = Field(default_factory=dict)


class Event(NewEvent):
    """An event as read back. `time` is seconds since 1970 by the writer's clock: for people, never for order."""

    run: str
    seq: int
    attempt: int
    time: float
