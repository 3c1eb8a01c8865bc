"""The pool: all agents that could be enlisted, as columns.

A card object costs kilobytes, so the pool keeps arrays and makes a card only for agents that somebody looks at. The
shipped pool is generated from the installed specialists: one agent for each combination of knob settings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from enlist.agents.cards import AgentCard, Beta, Seconds, Skill, Track
from enlist.agents.specialist import Specialist
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Scalar
from enlist.tools.runtime.ids import content_hash

P95_OVER_P50 = 3.0  # a prior for skewed run times, until a track record tells


def specialists() -> dict[str, Specialist]:
    """The installed specialists by name."""
    return {s.name: s for s in registry.load_all("enlist.agents").values()}


@dataclass(frozen=True)
class Pool:
    """Agents as columns, sorted by id.

    Attributes:
        ids: [N] words (dtype str or object, as all words here). duty, capability, specialist, route, model: [N] words
            ("" for none; capability "*" serves any).
        quality, quality_n: [N] float64, prior mean and weight. seconds: [N] float64, prior median. usd: [N] float64.
        knobs: per agent its knob values. tracks: by agent id and capability, from a pinned snapshot.
        synthetic: [N] bool.
    """

    ids: np.ndarray
    duty: np.ndarray
    capability: np.ndarray
    specialist: np.ndarray
    route: np.ndarray
    model: np.ndarray
    quality: np.ndarray
    quality_n: np.ndarray
    seconds: np.ndarray
    usd: np.ndarray
    synthetic: np.ndarray
    knobs: tuple[Mapping[str, Scalar], ...]
    declared: Mapping[str, Specialist]
    tracks: Mapping[str, Mapping[str, Track]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        return {str(id): i for i, id in enumerate(self.ids)}

    def card(self, position: int) -> AgentCard:
        """The card of the agent at a position."""
        name, id = str(self.specialist[position]), str(self.ids[position])
        declared = self.declared.get(name)
        p50 = float(self.seconds[position])
        return AgentCard(
            id=id, version=declared.version if declared else "0", specialist=name, duty=str(self.duty[position]),
            route=str(self.route[position]), knobs=dict(self.knobs[position]),
            capabilities=(Skill(id=str(self.capability[position]), prior=float(self.quality[position]),
                                prior_n=float(self.quality_n[position])),),
            tools=declared.tools if declared else (), reads=declared.reads if declared else (),
            writes=declared.writes if declared else (), model=str(self.model[position]) or None,
            usd_per_run=float(self.usd[position]), seconds_per_run=Seconds(p50=p50, p95=p50 * P95_OVER_P50),
            resources={"cpus": declared.cpus} if declared else {}, track=dict(self.tracks.get(id, {})),
            synthetic=bool(self.synthetic[position]))

    def find(self, id: str) -> int:
        """The position of an agent; `not_found` names the nearest ids."""
        if id not in self.index:
            hints = registry.nearest(id, self.index)
            raise EnlistError("not_found", "no agent of this id is in the pool", given=repr(id),
                              allowed="for example " + ", ".join(hints or [str(i) for i in self.ids[:3]]),
                              fix="see `enlist agents list`")
        return self.index[id]

    def without_model(self) -> np.ndarray:
        """[N] bool: agents that need no language model."""
        return self.model == ""

    def fingerprint(self) -> str:
        """The content hash of everything that search may read."""
        return content_hash({
            "ids": self.ids.tolist(), "quality": self.quality.tolist(), "seconds": self.seconds.tolist(),
            "usd": self.usd.tolist(), "versions": {n: s.version for n, s in sorted(self.declared.items())},
            "tracks": {a: {c: t.model_dump() for c, t in sorted(by.items())} for a, by in sorted(self.tracks.items())}})


def build(cards: Iterable[AgentCard], declared: Mapping[str, Specialist] | None = None) -> Pool:
    """A pool of these cards, sorted by id; `bad_input` where two share an id."""
    rows = sorted(cards, key=lambda card: card.id)
    twins = [a.id for a, b in pairwise(rows) if a.id == b.id]
    if twins:
        raise EnlistError("bad_input", "two agent cards share an id", given=twins[0], fix="give each card its own id")
    text = {key: np.array([getattr(c, key) for c in rows], dtype=str) for key in ("id", "duty", "specialist", "route")}
    return Pool(
        ids=text["id"], duty=text["duty"], specialist=text["specialist"], route=text["route"],
        capability=np.array([c.capabilities[0].id for c in rows], dtype=str),
        model=np.array([c.model or "" for c in rows], dtype=str),
        quality=np.array([c.capabilities[0].prior for c in rows]),
        quality_n=np.array([c.capabilities[0].prior_n for c in rows]),
        seconds=np.array([c.seconds_per_run.p50 for c in rows]), usd=np.array([c.usd_per_run for c in rows]),
        synthetic=np.array([c.synthetic for c in rows], dtype=bool), knobs=tuple(c.knobs for c in rows),
        declared=dict(declared or {}), tracks={c.id: c.track for c in rows if c.track})


def shipped(tracks: Mapping[str, Mapping[str, Track]] | None = None) -> Pool:
    """The pool of all installed specialists' agents."""
    declared = specialists()
    return build((card for s in declared.values() for card in cards_of(s, tracks or {})), declared)


def cards_of(specialist: Specialist, tracks: Mapping[str, Mapping[str, Track]] | None = None) -> list[AgentCard]:
    """One card for each combination of a specialist's knobs; the id spells them."""
    found = []
    for knobs in specialist.agents():
        id = specialist.name + "".join(f"/{k}={v}" for k, v in knobs.items())
        p50 = specialist.prior_seconds(knobs)
        found.append(AgentCard(
            id=id, version=specialist.version, specialist=specialist.name, duty=specialist.duty, route=specialist.route,
            knobs=knobs, tools=specialist.tools, reads=specialist.reads, writes=specialist.writes,
            capabilities=(Skill(id=specialist.capability or "*", prior=specialist.prior_quality(knobs),
                                prior_n=specialist.quality_n),),
            model=specialist.model(knobs), seconds_per_run=Seconds(p50=p50, p95=p50 * P95_OVER_P50),
            resources={"cpus": specialist.cpus}, track=dict((tracks or {}).get(id, {}))))
    return found


def capabilities_served(pool: Pool, models: Sequence[str] = ()) -> set[str]:
    """Capabilities with an eligible analyst and verifier, given the configured model capabilities."""
    able = ~pool.synthetic & ((pool.model == "") | np.isin(pool.model, list(models)))
    by_duty = {duty: set(pool.capability[able & (pool.duty == duty)].tolist()) for duty in ("analyst", "verifier")}
    return by_duty["analyst"] & by_duty["verifier"]


def reliability(good: float, bad: float) -> Beta:
    """The posterior of a run's success from counts, with a uniform prior."""
    return Beta(good=good + 1.0, bad=bad + 1.0)
