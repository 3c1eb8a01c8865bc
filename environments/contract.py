"""Environments and solvers: what a benchmark and what is measured by it must offer.

An environment is versioned and seeded. `tasks` yields requests with the schema of the submission and never the truth;
`score` runs apart from the solver and never raises. A solver turns a task into a submission.
"""

from collections.abc import Iterator
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

Split = Literal["validation", "test"]
Verdict = Literal["ok", "wrong", "invalid", "cheated", "no_evidence", "abstained", "timeout", "error"]
"""`error` is a fault of ours: retried, never counted against a solver."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(_Strict):
    """One task: `id` is unique within environment, version, split and seed; `payload` is what the solver sees, valid
    JSON; `submission_schema` is the JSON schema of `Submission.answer`."""

    environment: str
    version: str
    split: Split
    seed: int
    id: str
    text: str
    payload: dict[str, Any]
    submission_schema: dict[str, Any]


class Submission(_Strict):
    """A solver's answer; `answer` None abstains. `cost` names seconds, tokens, usd as far as known."""

    task: str
    answer: dict[str, Any] | None
    cost: dict[str, float] = Field(default_factory=dict)


class Score(_Strict):
    """A score in [0, 1], its parts, and the verdict with a reason where it is not `ok`."""

    task: str
    value: float = Field(ge=0, le=1)
    verdict: Verdict
    parts: dict[str, float] = Field(default_factory=dict)
    reason: str = ""


class Solver(Protocol):
    """Anything that answers tasks: an agent, a team, an algorithm, an external command."""

    @property
    def name(self) -> str:
        """What leaderboards call it."""

    def solve(self, task: Task) -> Submission:
        """Answer one task. Must not read the environment's truth."""


class Environment(Protocol):
    """A benchmark."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    @property
    def version(self) -> str:
        """Changes with anything that changes tasks or scores."""

    def tasks(self, split: Split, seed: int) -> Iterator[Task]:
        """The tasks of a split, the same for the same seed; the test split mixes in the salt ENLIST_EVAL_SALT."""

    def score(self, task: Task, submission: Submission) -> Score:
        """Judge one submission; never raises for what a submission holds."""

    def baselines(self) -> dict[str, Solver]:
        """At least `trivial` and `classical`."""

    def mutants(self) -> dict[str, Solver]:
        """Wrong solvers, which must score low."""
