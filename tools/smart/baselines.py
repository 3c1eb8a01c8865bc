"""Peers of the search: a random team, the greedy team, and restarted 1-opt, the strong classical one."""

from collections.abc import Sequence

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.polish import polish
from enlist.tools.smart.problem import Rows, TeamProblem

RESTARTS = 30
TRIES = 1000


def _eligible(problem: TeamProblem) -> list[Rows]:
    everybody = np.arange(len(problem.pool), dtype=np.intp)
    return [problem.pool.by_id(everybody[problem.fits(role, everybody) > -np.inf])
            for role in range(len(problem.roles))]


def random_teams(problem: TeamProblem, count: int, seed: int) -> list[tuple[int, ...]]:
    """`count` teams drawn evenly from those that meet the constraints, as pool rows (by rejection).

    Raises `not_found` where 1,000 draws in a row meet none.
    """
    random, eligible = np.random.Generator(np.random.PCG64([3, seed])), _eligible(problem)
    teams: list[tuple[int, ...]] = []
    failed = 0
    while len(teams) < count:
        draw = random.random(len(eligible))
        team = tuple(int(rows[int(part * len(rows))]) if len(rows) else -1
                     for part, rows in zip(draw, eligible, strict=True))
        if -1 not in team and problem.utility(team) > -np.inf:
            teams.append(team)
            failed = 0
            continue
        failed += 1
        if failed == TRIES:
            raise EnlistError("not_found", "no random team meets the constraints", given=f"{TRIES} draws",
                              fix="loosen the constraints, or use search, which looks systematically")
    return teams


def greedy(problem: TeamProblem, order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Role after role (in `order`), the agent that adds most beside those chosen; ties by card id; `not_found` where
    nobody is left for a role."""
    chosen: dict[int, int] = {}
    everybody = problem.pool.by_id(np.arange(len(problem.pool), dtype=np.intp))
    for role in order if order is not None else range(len(problem.roles)):
        score = problem.fits(role, everybody)
        for other, member in chosen.items():
            score = score + problem.pair(role, other, everybody, np.array([member], dtype=np.intp))[:, 0]
        best = int(np.argmax(score))
        if score[best] == -np.inf:
            raise EnlistError("not_found", f"greedy finds nobody for role {problem.roles[role]!r}",
                              given=f"{len(chosen)} roles filled before", fix="use search, or another order")
        chosen[role] = int(everybody[best])
    return tuple(chosen[role] for role in range(len(problem.roles)))


def restarted_one_opt(problem: TeamProblem, seed: int, restarts: int = RESTARTS) -> tuple[int, ...]:
    """The best of `restarts` random teams, each improved one role at a time over the whole pool until nothing helps."""
    climbed = [tuple(polish(problem, team)[0]) for team in random_teams(problem, restarts, seed)]
    return max(climbed, key=problem.utility)
