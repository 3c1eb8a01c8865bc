"""1-opt over the whole pool: what the shortlist left out may still improve one role at a time."""

from collections.abc import Sequence

import numpy as np

from enlist.tools.smart.problem import SCAN_BLOCK, TeamProblem


def best_other(problem: TeamProblem, role: int, team: Sequence[int]) -> tuple[int | None, float]:
    """The best agent of the pool in `role` beside the rest of `team`, its member there excepted, and its score.

    Equal scores by card id; (None, -inf) where nobody else can. A block's agents whose fit plus the best conceivable
    synergy stays below the best so far are not looked at.
    """
    row, score = None, -np.inf
    most = len(problem.neighbours(role)) * problem.edge_most
    if problem.terms is not None:
        most += problem.terms.most(team, role)
    for start in range(0, len(problem.pool), SCAN_BLOCK):
        rows = np.arange(start, min(start + SCAN_BLOCK, len(problem.pool)), dtype=np.intp)
        fits = problem.fits(role, rows)
        rows = rows[(fits > -np.inf) & (fits + most >= score) & (rows != team[role])]
        if not len(rows):
            continue
        scores = problem.given(role, rows, team)
        top = float(np.max(scores))
        if top == -np.inf or top < score:
            continue
        tied = [*rows[scores == top].tolist(), *([] if row is None or top > score else [row])]
        row, score = min(tied, key=lambda one: problem.pool.ids[one]), top
    return row, score


def best_others(problem: TeamProblem, team: Sequence[int]) -> list[tuple[int | None, float]]:
    """`best_other` for each role."""
    return [best_other(problem, role, team) for role in range(len(team))]


def polish(problem: TeamProblem, team: Sequence[int]) -> tuple[list[int], bool]:
    """Replace members while a replacement improves the team, role by role. Returns the team and whether it changed."""
    members, changed, still = list(team), False, 0
    role = 0
    while still < len(members):
        other, score = best_other(problem, role, members)
        now = float(problem.given(role, np.array([members[role]], dtype=np.intp), members)[0])
        if other is not None and score > now:
            members[role], changed, still = other, True, 0
        still += 1
        role = (role + 1) % len(members)
    return members, changed
