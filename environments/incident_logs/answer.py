"""An answer as `enlist logs summarize --json` prints it, read with room for more keys than are judged."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from enlist.environments.incident_logs.model import KINDS

MOST_CLAIMS, MOST_EVENTS = 60, 40
"""Claims and events of a time line that are looked at, in the order given: citing every line is no summary."""
SCHEMA: dict[str, Any] = {
    "type": "object", "required": ["incident"], "properties": {
        "incident": {"type": "boolean"},
        "root_cause": {"type": "object", "properties": {
            "component": {"type": "string"}, "cause": {"type": "string"}, "trigger": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1}}},
        "timeline": {"type": "array", "items": {"type": "object", "properties": {
            "time_utc": {"type": "string"}, "service": {"type": "string"}, "event": {"enum": list(KINDS)},
            "claim": {"type": "string"}}}},
        "claims": {"type": "array", "items": {"type": "object", "properties": {
            "text": {"type": "string"}, "lines": {"type": "array", "items": {"type": "object", "properties": {
                "file": {"type": "string"}, "line": {"type": "integer", "minimum": 1}}}}}}},
        "accounting": {"type": "object", "properties": {"lines_read": {"type": "integer"}}}}}


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Cause(_Loose):
    """Where it began (a service), the class of cause, what set it off, and how sure that is."""

    component: str = ""
    cause: str = "unknown"
    trigger: str = ""
    confidence: float = Field(default=0.0, ge=0, le=1)

    @field_validator("component", "cause", "trigger", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return "" if value is None else value


class Moment(_Loose):
    """An entry of the time line."""

    time_utc: str = ""
    service: str = ""
    event: str = ""
    claim: str = ""

    def seconds(self) -> float | None:
        """Seconds since the epoch, or None where the time cannot be read; a time without a zone is UTC."""
        try:
            when = datetime.fromisoformat(self.time_utc)
        except ValueError:
            return None
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


class Cited(_Loose):
    """A line: the name of its file as it was given (a path ends in it), and its number from 1."""

    file: str
    line: int


class Claim(_Loose):
    """A sentence and the lines that carry it."""

    text: str = ""
    lines: tuple[Cited, ...] = ()


class Accounting(_Loose):
    """How many physical lines were read."""

    lines_read: int = 0


class Answer(_Loose):
    """A summary of a stream."""

    incident: bool
    root_cause: Cause = Cause()
    timeline: tuple[Moment, ...] = ()
    claims: tuple[Claim, ...] = ()
    impact: str = ""
    accounting: Accounting = Accounting()

    @field_validator("root_cause", "accounting", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @field_validator("impact", mode="before")
    @classmethod
    def _told(cls, value: Any) -> Any:
        return value if isinstance(value, str) else "" if value is None else str(value)


def read(answer: Any) -> tuple[Answer | None, str]:
    """The answer, or None and why it is none."""
    try:
        return Answer.model_validate(answer), ""
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
