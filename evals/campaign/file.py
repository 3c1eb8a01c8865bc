"""The campaign file: what is measured, by what, on which tasks, and what it may cost.

YAML with a fixed set of keys; an unknown key is refused and the nearest one named. Two files that say the same are the
same campaign, whatever their layout: `CampaignFile.canonical` is what the campaign's id is made of. Budget, parallelism
and the number of retries are not in it, because they change what is spent and not what is measured.
"""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from enlist.environments.contract import Split
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.naming import nearest

LARGEST = 1 << 20  # bytes of a campaign file
MOST_SEEDS = 1000
Disposition = Literal["retry", "error", "skip"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EnvironmentEntry(_Strict):
    """One environment: `seeds` is a list, or a number n for 0 to n-1; `label` tells two entries of one name apart."""

    name: str
    label: str = ""
    split: Split = "validation"
    seeds: tuple[int, ...] = (0,)
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("seeds", mode="before")
    @classmethod
    def _counted(cls, value: Any) -> Any:
        return tuple(range(value)) if isinstance(value, int) and 1 <= value <= MOST_SEEDS else value

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or len(set(value)) < len(value) or min(value) < 0:
            raise ValueError("seeds are distinct whole numbers from 0, at least one")
        return value

    @property
    def shown(self) -> str:
        """What leaderboards call it."""
        return self.label or self.name


class Team(_Strict):
    """A team enlisted for each task as `enlist run` would: the seed of the search."""

    seed: int = Field(default=0, ge=0)


class SolverEntry(_Strict):
    """Exactly one of `baseline` (of the environment, by name), `agent` (by id), `team`, or `command`.

    A command gets the task as JSON on standard input and prints its answer as JSON; it runs in the sandbox, in a folder
    that holds the `files` (paths beside the campaign file) and nothing else.
    """

    baseline: str | None = None
    agent: str | None = None
    team: Team | None = None
    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    files: tuple[str, ...] = ()
    name: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"baseline": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> "SolverEntry":
        if sum(x is not None for x in (self.baseline, self.agent, self.team, self.command)) != 1:
            raise ValueError("a solver is one of: the name of a baseline, agent, team, command")
        if self.files and self.command is None:
            raise ValueError("only a command has files")
        return self

    @property
    def shown(self) -> str:
        """What leaderboards call it."""
        return (self.name or self.baseline or (f"agent {self.agent}" if self.agent else "")
                or ("team" if self.team is not None else Path((self.command or ("",))[-1]).name))


class Limits(_Strict):
    """Of one sample: wall seconds and bytes of memory for solving, wall seconds for scoring."""

    seconds: float = Field(default=120.0, gt=0, le=86_400)
    score_seconds: float = Field(default=120.0, gt=0, le=86_400)
    memory_mb: int = Field(default=2048, ge=64)


class Budget(_Strict):
    """Of the whole campaign over all resumptions: wall seconds, and US dollars as the solvers report them."""

    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, ge=0)


class CampaignFile(_Strict):
    """A campaign file as read.

    Attributes:
        against: the solver that the others are compared to; the first one where it is not named.
        retries: how often a sample is tried again after its first try failed.
        disposition: of a sample whose solver hung or crashed: `retry` (then it counts as a failure), `error` (it counts
            as a failure at once), `skip` (it is left out).
        parallel: samples at a time; None for one per processor.
    """

    name: str = Field(pattern=r"^[\w][\w .-]{0,79}$")
    environments: tuple[EnvironmentEntry, ...] = Field(min_length=1)
    solvers: tuple[SolverEntry, ...] = Field(min_length=1)
    against: str | None = None
    limits: Limits = Limits()
    budget: Budget = Budget()
    retries: int = Field(default=2, ge=0, le=20)
    disposition: Disposition = "retry"
    parallel: int | None = Field(default=None, ge=1, le=10_000)

    @model_validator(mode="after")
    def _names(self) -> "CampaignFile":
        for what, names in (("environments", [e.shown for e in self.environments]),
                            ("solvers", [s.shown for s in self.solvers])):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"two {what} are called {twice[0]!r}: give one a "
                                 f"{'label' if what == 'environments' else 'name'}")
        if self.against is not None and self.against not in [s.shown for s in self.solvers]:
            raise ValueError(f"against names no solver of this file: {self.against!r}")
        return self

    def canonical(self) -> dict[str, Any]:
        """What is measured, as JSON."""
        return self.model_dump(mode="json", exclude={"budget", "parallel", "retries"})


_MODELS: dict[str, type[BaseModel]] = {"environments": EnvironmentEntry, "solvers": SolverEntry, "limits": Limits,
                                       "budget": Budget}


def read_file(path: Path) -> CampaignFile:
    """Read a campaign file.

    Raises:
        EnlistError: `not_found`; `bad_input` for what is no campaign, naming the field, the rule and the nearest key.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise _refuse(f"the file is larger than {LARGEST} bytes", str(path))
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise EnlistError("not_found", "the campaign file is not there", given=str(path),
                          fix="check the path; docs/campaigns.md shows a file") from error
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise _refuse(f"the file cannot be read: {error}", str(path)) from error
    return parse(text, str(path))


def parse(text: str, shown: str = "campaign") -> CampaignFile:
    """The campaign in a YAML text; `bad_input` as in `read_file`."""
    try:
        data = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _refuse(f"{shown} is no YAML: {' '.join(str(error).split())[:300]}", shown) from error
    if not isinstance(data, dict):
        raise _refuse(f"{shown} holds no mapping", type(data).__name__)
    try:
        return CampaignFile.model_validate(data)
    except ValidationError as error:
        raise _refuse(f"{shown}: {_first_fault(error)}", str(error.errors()[0].get("input"))[:200]) from error


def upload(file: CampaignFile, folder: Path, memory: Memory) -> dict[str, ArtifactRef]:
    """The files of the commands as artifacts, by the name they have in the file; `not_found` where one is absent."""
    found: dict[str, ArtifactRef] = {}
    for solver in file.solvers:
        for name in solver.files:
            path = folder / name
            if not path.is_file():
                raise EnlistError("not_found", f"a file of the solver {solver.shown} is not there", given=str(path),
                                  fix="correct `files`; paths are relative to the campaign file")
            found[name] = memory.put_file(path, media_type="application/octet-stream", name=path.name)
    return found


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    path = ".".join(map(str, fault["loc"])) or "the file"
    if fault["type"] == "extra_forbidden":
        model = CampaignFile if len(fault["loc"]) == 1 else _MODELS.get(str(fault["loc"][0]), CampaignFile)
        known = list((Team if "team" in fault["loc"] else model).model_fields)
        hint = nearest(str(fault["loc"][-1]), known)
        return f"unknown key {path!r}" + (f"; did you mean {hint[0]!r}?" if hint else f"; known: {', '.join(known)}")
    return f"{path}: {fault['msg'].removeprefix('Value error, ')}"


def _refuse(message: str, given: str) -> EnlistError:
    return EnlistError("bad_input", message, given=given, allowed="a campaign file as docs/campaigns.md shows",
                       fix="correct the file")
