"""A specialist: a kind of agent, its duty and the knobs on which its agents differ.

An agent is a specialist with a value for each knob. The graph is the same for all (`graph.py`): act, check the
invariants of what was done, act again while there are complaints and rounds left. `act` and `check` are named as
"module:function" so that listing agents imports neither torch nor LangGraph.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from enlist.tools.runtime.findings import Scalar

Duty = Literal["analyst", "verifier", "writer"]
Knobs = Mapping[str, Scalar]


@dataclass(frozen=True)
class Setting:
    """One value of a knob and its prior effect: added to the prior quality, multiplied into the prior seconds.
    `model` names the model capability that this setting needs."""

    value: Scalar
    quality: float = 0.0
    seconds: float = 1.0
    model: str | None = None


@dataclass(frozen=True)
class Knob:
    """A setting that the executor honours; agents that differ in it differ in steps, limits or tools."""

    name: str
    meaning: str
    settings: tuple[Setting, ...]

    def setting(self, value: Scalar) -> Setting:
        return next(s for s in self.settings if s.value == value)


@dataclass(frozen=True)
class Specialist:
    """A declaration.

    Attributes:
        capability: what it serves; None for a writer, which serves any.
        route: how it knows; a verifier must not share the route of the analyst it checks.
        act: "module:function"; `function(work, state) -> Draft`.
        check: "module:function"; `function(work, state) -> list[str]`, complaints about the draft, empty when right.
        quality, quality_n: prior mean in (0, 1) and its weight in pseudo-observations. A prior, not a measurement.
        seconds: prior median seconds per run at the first setting of every knob.
        cpus: what the agent itself needs beside its tools; 0, so that agents never starve their own tools.
    """

    name: str
    version: str
    summary: str
    duty: Duty
    capability: str | None
    route: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tools: tuple[str, ...]
    knobs: tuple[Knob, ...]
    act: str
    check: str
    quality: float = 0.8
    quality_n: float = 4.0
    seconds: float = 5.0
    cpus: float = 0.0

    def agents(self) -> Iterator[dict[str, Scalar]]:
        """The knob values of each agent, in a fixed order."""
        names = [knob.name for knob in self.knobs]
        for values in product(*([s.value for s in knob.settings] for knob in self.knobs)):
            yield dict(zip(names, values, strict=True))

    def settings(self, knobs: Knobs) -> list[Setting]:
        return [knob.setting(knobs[knob.name]) for knob in self.knobs]

    def prior_quality(self, knobs: Knobs) -> float:
        """Prior mean quality of the agent with these knobs, kept within [0.01, 0.99]."""
        return min(0.99, max(0.01, self.quality + sum(s.quality for s in self.settings(knobs))))

    def prior_seconds(self, knobs: Knobs) -> float:
        """Prior median seconds of the agent with these knobs."""
        seconds = self.seconds
        for setting in self.settings(knobs):
            seconds *= setting.seconds
        return seconds

    def model(self, knobs: Knobs) -> str | None:
        """The model capability that the agent with these knobs needs, if any."""
        return next((s.model for s in self.settings(knobs) if s.model), None)
