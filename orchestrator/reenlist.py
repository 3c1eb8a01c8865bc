"""Re-enlistment: whether a role gets another agent after what happened, and which.

A decision from the journal alone. A fault that may pass is tried again with the same agent; after another the role goes
to an agent that would not meet the same fault: none of the same specialist where that is deterministic, one that waits
longer after a timeout, a cheaper one after overspending, one without the model after that gave no answer. Claims that
were refuted are made anew by another specialist, for a deterministic tool computes the same again. Each happens a
bounded number of times, and only where what is left of the budget covers the median cost of the new agent and of the
roles after it.
"""

from dataclasses import dataclass

import numpy as np

from enlist.agents.pool import Pool
from enlist.orchestrator.plan import Plan
from enlist.orchestrator.shares import rest
from enlist.orchestrator.state import Cause, Failure, RunState
from enlist.orchestrator.team import Member, enlist_team
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError

TRANSIENT_TRIES = 3  # fillings of a role by one agent under faults that may pass
MOST_REENLISTMENTS = {"limit": 1, "deterministic": 2, "transient": 2}
MOST_BY_CAUSE: dict[Cause, int] = {"stalled": 2, "overspent": 2, "refuted": 2, "model": 2}
# Per role; those by cause hold whatever the fault's kind.


@dataclass(frozen=True)
class Left:
    """What is left of the run's budget; None is no limit."""

    seconds: float | None = None
    tokens: float | None = None
    usd: float | None = None


def tried_again(state: RunState, last: Failure) -> bool:
    """Whether the same agent gets the role again."""
    if last.cause == "model":  # its client has tried again already
        return False
    passing = [f for f in state.failures_of(last.role, last.agent) if f.error.kind == "transient"]
    return last.error.kind == "control" or (last.error.kind == "transient" and len(passing) < TRANSIENT_TRIES)


def replacement(state: RunState, plan: Plan, pool: Pool, models: tuple[str, ...], last: Failure, left: Left) -> Member:
    """The agent that search enlists for the role of a failure, beside the rest of the team.

    Raises:
        EnlistError: `not_found` where nobody is left, the bound is reached or the budget covers nobody; it says which.
    """
    replaced = [c["cause"] for c in state.reenlisted if c["role"] == last.role and c["cause"] != "refuted"]
    most = MOST_BY_CAUSE.get(last.cause, MOST_REENLISTMENTS.get(last.error.kind, 0))
    if len(replaced) >= most:
        raise EnlistError("not_found", f"role {last.role} was given to {len(replaced)} other agents already")
    excluded: set[int] = set()
    for failure in state.failures_of(last.role):
        excluded |= _would_fail_too(pool, failure)
    for change in state.reenlisted:
        if change["role"] == last.role and change["cause"] == "refuted":
            excluded |= _would_say_the_same(pool, change["replaced"])
    return _enlist(state, plan, pool, models, last.role, excluded, left,
                   prefer_others=last.agent if last.cause == "stalled" else None)


def rework(state: RunState, plan: Plan, pool: Pool, models: tuple[str, ...], role: str, left: Left) -> Member:
    """The agent that makes the refuted claims of a role anew.

    Raises:
        EnlistError: `not_found` where nobody is left, the bound is reached or the budget covers nobody; it says which.
    """
    if state.rework(role) >= MOST_BY_CAUSE["refuted"]:
        raise EnlistError("not_found", f"{state.rework(role)} other agents' claims were refuted too")
    excluded = _would_say_the_same(pool, state.handed[role].agent)
    for change in state.reenlisted:
        if change["role"] == role:
            excluded |= _would_say_the_same(pool, change["replaced"])
    return _enlist(state, plan, pool, models, role, excluded, left)


def _enlist(state: RunState, plan: Plan, pool: Pool, models: tuple[str, ...], role: str, excluded: set[int],
            left: Left, prefer_others: str | None = None) -> Member:
    fixed = {r: m.agent for r, m in state.members.items() if r != role}
    excluded = excluded | set(np.isin(pool.model, sorted(state.down)).nonzero()[0].tolist())
    poor = _too_dear(state, plan, pool, role, left)
    seed = int(state.pins["seed"])

    def search(without: set[int]) -> Member:
        team = enlist_team(plan, pool, seed=seed, models=models, fixed=fixed, excluded={role: without})
        return next(m for m in team.members if m.role == role)

    try:
        if prefer_others is not None:
            try:
                return search(excluded | poor | _twins(pool, pool.find(prefer_others)))
            except EnlistError:
                pass  # no other specialist serves the role: another agent of the same one then
        return search(excluded | poor)
    except EnlistError as error:
        if poor:
            try:
                search(excluded)
            except EnlistError:
                pass
            else:
                raise EnlistError("not_found", "what is left of the budget covers no other agent",
                                  given=_given(left)) from error
        raise EnlistError("not_found", "no other agent can fill the role") from error


def _would_fail_too(pool: Pool, failure: Failure) -> set[int]:
    place = pool.find(failure.agent)
    twins = _twins(pool, place)
    if failure.cause == "overspent":  # only those that cost less may do better
        return {n for n in twins if pool.seconds[n] >= pool.seconds[place] and pool.usd[n] >= pool.usd[place]} | {place}
    if failure.cause == "model":  # those that ask the same one are left out as long as it is down
        return {place}
    if failure.cause == "fault" and failure.error.kind == "deterministic":  # its twins would meet the same fault
        return twins | {place}
    if failure.cause == "fault" and failure.error.code == "timeout":  # only those that wait longer may do better
        return {n for n in twins if _patience(pool, n) <= _patience(pool, place)} | {place}
    return {place}


def _would_say_the_same(pool: Pool, agent: str) -> set[int]:
    """The agent, and those of its specialist where its tools give the same output for the same input."""
    place = pool.find(agent)
    specialist = pool.declared.get(str(pool.specialist[place]))
    tools = [registry.load_entry("enlist.tools", name) for name in specialist.tools] if specialist else []
    return _twins(pool, place) if all(tool.deterministic for tool in tools) else {place}


def _twins(pool: Pool, place: int) -> set[int]:
    return set((pool.specialist == pool.specialist[place]).nonzero()[0].tolist())


def _too_dear(state: RunState, plan: Plan, pool: Pool, role: str, left: Left) -> set[int]:
    """Agents whose median cost, with that of the roles after, is more than what is left."""
    seconds = {r: float(pool.seconds[pool.find(m.agent)]) for r, m in state.members.items()}
    dear = np.zeros(len(pool), dtype=bool)
    if left.seconds is not None:
        dear |= pool.seconds + rest(plan, role, seconds) > left.seconds
    if left.usd is not None:
        dear |= pool.usd > left.usd
    if left.tokens is not None and left.tokens <= 0:
        dear |= pool.model != ""
    return set(dear.nonzero()[0].tolist())


def _given(left: Left) -> str:
    told = {"s": left.seconds, "tokens": left.tokens, "USD": left.usd}
    return ", ".join(f"{amount:.4g} {unit}" for unit, amount in told.items() if amount is not None)


def _patience(pool: Pool, place: int) -> float:
    limit = pool.knobs[place].get("time_limit")
    return float(limit) if isinstance(limit, int | float) else float("inf")
