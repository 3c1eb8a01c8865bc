"""The team: an agent for every role of a plan, chosen by SMART's search over the pool's columns.

Utility of an agent in a role: posterior mean quality times posterior mean reliability, minus `TIME_WEIGHT` times its
median seconds over the time there is, minus `COST_WEIGHT` per dollar. Synergy of a hand-over: the posterior of the
pair's past hand-overs, shrunk to the pair of specialists, plus how well the artifacts fit. Qualities are priors until a
campaign measured them, and the card says so.
"""

from collections.abc import Collection, Mapping

import numpy as np
from pydantic import Field

from enlist.agents.learning import Posterior, posterior, worth
from enlist.agents.pool import Pool
from enlist.orchestrator.plan import Plan, Role
from enlist.orchestrator.request import Strict
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, SearchResult, TeamProblem, search

TIME_WEIGHT = 0.2  # quality that one is ready to give for a run that uses all of the time
COST_WEIGHT = 0.05  # quality per US dollar
DEFAULT_SECONDS = 600.0  # the time scale of a request without a budget
SYNERGY_WEIGHT = 0.15  # the beta under which the search was measured (docs/teaming.md)


class Member(Strict):
    """An agent in a role. `runner_up` is the best other agent there given the rest, `margin` what it would cost in
    utility; `terms` sum to the member's share of the utility."""

    role: str
    agent: str
    runner_up: str | None = None
    margin: float | None = None
    terms: dict[str, float] = Field(default_factory=dict)
    found_by: str


class UpperBound(Strict):
    """A value that no team exceeds, and the name of the bound."""

    value: float
    name: str


class Search(Strict):
    """How the search went; `shortlist` is candidates per role."""

    iterations: int
    shortlist: tuple[int, ...]
    exhausted: bool
    stopped_by: str


class Team(Strict):
    """A plan's team with its predicted utility."""

    members: tuple[Member, ...]
    utility: float
    upper_bound: UpperBound
    search: Search


def enlist_team(plan: Plan, pool: Pool, *, seed: int, models: Collection[str] = (), seconds: float | None = None,
                fixed: Mapping[str, str] | None = None, excluded: Mapping[str, Collection[int]] | None = None,
                tasks_left: int = 1) -> Team:
    """The best team that the search finds.

    Args:
        models: configured model capabilities; agents that need another are not eligible.
        seconds: the time there is; scales what slowness costs.
        tasks_left: of a campaign that learns, this one included; above one, trying agents has a worth of its own
            (`enlist.agents.learning`). Runs for users take 1: the best posterior mean.
        fixed: agents that keep their role. excluded: pool positions that may not fill a role.

    Raises:
        EnlistError: `not_found`, naming the role, where no agent is eligible.
    """
    unary = np.stack([_unary(role, pool, models, seconds, (fixed or {}).get(role.id), (excluded or {}).get(role.id, ()),
                             tasks_left) for role in plan.roles])
    for role, fits in zip(plan.roles, unary, strict=True):
        if not np.any(fits > -np.inf):
            raise EnlistError("not_found", f"no agent of the pool can fill role {role.id!r}", given=role.id,
                              allowed=f"an agent with duty {role.duty!r} and capability {role.capability!r}",
                              fix="install or configure one; see `enlist agents list` and `enlist doctor`")
    numbers = {role.id: number for number, role in enumerate(plan.roles)}
    # Two artifacts between the same two roles are one working pair.
    edges = tuple(dict.fromkeys((numbers[e.source], numbers[e.target]) for e in plan.edges))
    routes = {name: number for number, name in enumerate(sorted(set(pool.route.tolist())))}
    columns = PoolColumns(ids=pool.ids.tolist(), routes=np.array([routes[str(r)] for r in pool.route], dtype=np.int64))
    problem = TeamProblem(pool=columns, roles=tuple(numbers), edges=edges, unary=unary, beta=SYNERGY_WEIGHT,
                          synergy=lambda a, b, edge: _artifact_fit(pool, a, b), synergy_most=1.0,
                          differ=_must_differ(plan, numbers))
    return _team(search(problem, seed=seed))


def serves(pool: Pool, role: Role) -> np.ndarray:
    """[N] bool: agents of the role's duty and capability that are real."""
    capability = (pool.capability == (role.capability or "*")) if role.capability else pool.capability == "*"
    return (pool.duty == role.duty) & capability & ~pool.synthetic


def _unary(role: Role, pool: Pool, models: Collection[str], seconds: float | None, fixed: str | None,
           excluded: Collection[int], tasks_left: int) -> np.ndarray:
    able = serves(pool, role) & ((pool.model == "") | np.isin(pool.model, list(models)))
    if excluded:
        able[list(excluded)] = False
    if fixed is not None:
        able &= pool.ids == fixed
    known, reliability = _posteriors(role, pool)
    quality = worth(known, tasks_left, able) if tasks_left > 1 else known.mean
    time_cost = TIME_WEIGHT * np.minimum(1.0, pool.seconds / (seconds or DEFAULT_SECONDS))
    return np.where(able, quality * reliability - time_cost - COST_WEIGHT * pool.usd, -np.inf)


def _posteriors(role: Role, pool: Pool) -> tuple[Posterior, np.ndarray]:
    """What is known of every agent's quality, and its posterior mean reliability."""
    good, seen = np.zeros(len(pool)), np.zeros(len(pool))
    works, tries = np.full(len(pool), 9.0), np.full(len(pool), 10.0)  # prior: nine of ten runs end well
    for agent, tracks in pool.tracks.items():
        track = tracks.get(role.capability or "*")
        if track is None or agent not in pool.index:
            continue
        here = pool.index[agent]
        if track.quality:
            good[here] += track.quality.good
            seen[here] += track.quality.good + track.quality.bad
        if track.reliability:
            works[here] += track.reliability.good
            tries[here] += track.reliability.good + track.reliability.bad
    group = np.unique(pool.specialist, return_inverse=True)[1] if np.any(seen) else np.zeros(len(pool), dtype=np.intp)
    return posterior(pool.quality, pool.quality_n, good, seen, group), works / tries


def _artifact_fit(pool: Pool, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """[len(sources), len(targets)]: the share of what the target's specialist reads that the source's writes."""
    names = pool.specialist
    fit = np.zeros((len(sources), len(targets)))
    for source in sorted(set(names[sources].tolist())):
        for target in sorted(set(names[targets].tolist())):
            one, other = pool.declared.get(source), pool.declared.get(target)
            if one and other and other.reads:
                share = len(set(one.writes) & set(other.reads)) / len(other.reads)
                fit[np.ix_(names[sources] == source, names[targets] == target)] = share
    return fit


def _must_differ(plan: Plan, numbers: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    """Pairs of a verifier and an analyst upstream of it with the same capability: their routes must differ."""
    return tuple((numbers[above], numbers[role.id]) for role in plan.roles if role.duty == "verifier"
                 for above in plan.upstream(role.id)
                 if plan.role(above).duty == "analyst" and plan.role(above).capability == role.capability)


def _team(found: SearchResult) -> Team:
    members = tuple(Member(role=m.role, agent=m.agent, runner_up=m.runner_up, margin=m.margin, found_by=found.found_by,
                           terms={"fit": m.unary, "synergy": m.synergy}) for m in found.team)
    return Team(members=members, utility=found.utility,
                upper_bound=UpperBound(value=found.upper_bound.value, name=found.upper_bound.name),
                search=Search(iterations=found.iterations, shortlist=found.shortlist, exhausted=found.exhausted,
                              stopped_by=found.stopped_by))
