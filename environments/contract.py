"""Environments and solvers: what a benchmark and what is measured by it must offer.

An environment is versioned and seeded. `tasks` yields requests with the schema of the submission and never the truth;
`score` runs apart from the solver and never raises. A solver turns a task into a submission.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.naming import nearest

Split = Literal["validation", "test"]
Verdict = Literal["ok", "wrong", "invalid", "cheated", "no_evidence", "abstained", "timeout", "error"]
"""`error` is a fault of ours: retried, never counted against a solver."""

Reference = Literal["single-agent", "random", "greedy", "oracle"]
"""The rows that every leaderboard shows beside what is measured, where the environment offers them."""
REFERENCES: tuple[Reference, ...] = get_args(Reference)


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


class Absent(_Strict):
    """Why an environment has no reference row of a kind."""

    reason: str = Field(min_length=1)


@runtime_checkable
class Referenced(Protocol):
    """Optional: an environment that says which of its baselines are reference rows."""

    def references(self) -> Mapping[Reference, str | Absent]:
        """By kind: the name of a baseline, or why there is none."""


@runtime_checkable
class Grouped(Protocol):
    """Optional: an environment whose tasks are not independent beyond being the same."""

    def group(self, task: Task) -> str:
        """Tasks of one group are resampled together, whatever their seed."""


@runtime_checkable
class Spoken(Protocol):
    """Optional: an environment whose solvers have names that people say ("the team search")."""

    def spoken(self) -> Mapping[str, tuple[str, ...]]:
        """By baseline: words that people use for it; under the environment's own name, words for itself."""


@runtime_checkable
class Answerable(Protocol):
    """Optional: an environment whose tasks agents and teams answer, as they answer a person's request."""

    def as_request(self, task: Task) -> tuple[str, dict[str, bytes]]:
        """The request in plain language, and the files attached to it by name."""

    def read_findings(self, task: Task, findings: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The answer that these findings (JSON of `Finding`) give, or None where they give none."""


def references(environment: Environment) -> dict[Reference, str | Absent]:
    """For each kind of reference row the baseline that is it, or why there is none.

    A kind that the environment does not tell of is the baseline of that very name, where there is one.
    """
    told = environment.references() if isinstance(environment, Referenced) else {}
    baselines = environment.baselines()
    silent = Absent(reason=f"the environment {environment.name} names no such baseline")
    return {kind: told.get(kind, kind if kind in baselines else silent) for kind in REFERENCES}


def group_of(environment: Environment, task: Task) -> str:
    """What a task is resampled by: the environment's group, else what the solver sees, so that a task which several
    seeds repeat counts as one."""
    if isinstance(environment, Grouped):
        return environment.group(task)
    return content_hash([task.text, task.payload])[:16]


def configured(environment: Environment, options: Mapping[str, Any]) -> Environment:
    """The environment with other values for fields of its dataclass (sizes, not name or version).

    Raises:
        EnlistError: `bad_input` for an option that it does not have, naming the nearest.
    """
    if not options:
        return environment
    known: list[str] = []
    if is_dataclass(environment):
        known = [f.name for f in fields(environment) if f.init and f.name not in ("name", "version")]
    for option in options:
        if option not in known:
            hints = nearest(option, known) or known
            raise EnlistError("bad_input", f"the environment {environment.name} has no such option", given=option,
                              allowed=", ".join(hints) or "no options", fix="correct or remove the option")
    assert is_dataclass(environment) and not isinstance(environment, type)
    return replace(environment, **options)
