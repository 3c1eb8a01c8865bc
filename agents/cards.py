"""Agent cards: the metadata of an agent, which is all that team search sees."""

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.findings import Scalar


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Beta(_Strict):
    """A Beta posterior by its pseudo-counts of good and bad outcomes."""

    good: float = Field(ge=0)
    bad: float = Field(ge=0)

    @property
    def mean(self) -> float:
        return self.good / (self.good + self.bad)


class Skill(_Strict):
    """A capability that an agent serves. `prior` in [0, 1] with the weight of `prior_n` observations; a writer's
    capability is "*"."""

    id: str
    prior: float = Field(ge=0, le=1)
    prior_n: float = Field(gt=0)


class Track(_Strict):
    """What is known from experience: quality from environment scores, reliability from ended runs."""

    quality: Beta | None = None
    reliability: Beta | None = None


class Seconds(_Strict):
    p50: float = Field(ge=0)
    p95: float = Field(ge=0)


class AgentCard(_Strict):
    """One agent's card; `synthetic` cards exist for benchmarks and are never enlisted by a run."""

    id: str
    version: str
    specialist: str
    duty: str
    route: str
    knobs: dict[str, Scalar]
    capabilities: tuple[Skill, ...]
    tools: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    model: str | None = None
    usd_per_run: float = Field(default=0.0, ge=0)
    seconds_per_run: Seconds
    resources: dict[str, float] = Field(default_factory=dict)
    track: dict[str, Track] = Field(default_factory=dict)
    synthetic: bool = False
    quality_source: str = "prior"
