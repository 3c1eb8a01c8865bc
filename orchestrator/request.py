"""A request: what the user typed, what came with it, what it may cost, and what the text states.

Attachments are artifacts with the kinds that their content shows. Measurements and constraints are read from the text
by the planner and keep the words they were read from, so that a report can quote them as the user's statement.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.artifacts import ArtifactRef


class Strict(BaseModel):
    """Base of the orchestrator's models: frozen, no unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Attachment(Strict):
    """One attached file: `kinds` are the artifact kinds that its content shows, best first; `note` says what is odd."""

    ref: ArtifactRef
    kinds: tuple[str, ...]
    note: str | None = None


class Measurement(Strict):
    """A quantity that the user states: a time in seconds (`time`), tokens per second (`token_rate`) or samples per
    second (`sample_rate`), with the words it was read from and the device it was taken on, where named."""

    quantity: Literal["time", "token_rate", "sample_rate"]
    value: float = Field(gt=0)
    quote: str
    device: str | None = None


class Constraints(Strict):
    """What the text restricts; each None or empty where it says nothing. `quotes` are the words, by field name."""

    devices: tuple[str, ...] = ()
    dtype: str | None = None
    batch: int | None = None
    length: int | None = None
    training: bool = False
    quotes: dict[str, str] = Field(default_factory=dict)


class Budget(Strict):
    """What a run may cost: wall seconds, tokens, US dollars; None is no limit."""

    seconds: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)


class Request(Strict):
    """Everything that a run is made from."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    budget: Budget = Budget()
    measurements: tuple[Measurement, ...] = ()
    constraints: Constraints = Constraints()
