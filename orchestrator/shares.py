"""What a role may take: its share of what is left of the budget, and how long it may be silent.

A role may use all that is left but what the roles after it need by their cards (`rest`): so that a slow analyst leaves
the verifier and the writer their time. Pure functions of the plan, the team's cards and what is left.
"""

from collections.abc import Mapping

from enlist.orchestrator.plan import Plan

SILENCE_FACTOR = 3.0  # times a card's p95 seconds
SILENCE_FLOOR = 60.0  # seconds; a dozen beats (`enlist.agents.signs.BEAT`), and the longest import under load
FIRST_SIGN = 180.0  # seconds until a worker must have begun: nodes start a few processes at a time


def silence_bound(p95: float) -> float:
    """Seconds without a sign of life after which an agent counts as stalled."""
    return max(SILENCE_FLOOR, SILENCE_FACTOR * p95)


def rest(plan: Plan, role: str, seconds: Mapping[str, float]) -> float:
    """Seconds that the roles after `role` need: the longest path of their medians."""
    after = [e.target for e in plan.edges if e.source == role]
    return max((seconds[r] + rest(plan, r, seconds) for r in dict.fromkeys(after)), default=0.0)


def share_of_time(left: float, rest_s: float, median: float) -> float | None:
    """Seconds that a role may take; None where it may take all: it is the last, or too little is left for everybody."""
    share = left - rest_s
    return share if rest_s > 0 and share >= median else None


def share_of_rest(free: float, mine: float, others: float) -> float:
    """A role's share of what is free of tokens or dollars: all but what the `others` that are not done expect to
    spend, and where that is more than there is, its part by expectation."""
    if others <= 0:
        return free
    return free - others if free >= mine + others else free * mine / (mine + others) if mine else 0.0
