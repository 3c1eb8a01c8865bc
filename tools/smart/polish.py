"""1-opt over the whole pool: what the shortlist left out may still improve one role at a time."""

from collections.abc import Sequence

import numpy as np

from enlist.tools.smart.problem import SCAN_BLOCK, Rows, TeamProblem


def best_other(problem: TeamProblem, role: int, team: Sequence[int],
               near: Rows | None = None) -> tuple[int | None, float]:
    """The best agent of the pool in `role` beside the rest of `team`, its member there excepted, and its score.

    Equal scores by card id; (None, -inf) where nobody else can. Agents of `near` are looked at first; of the others
    only those whose fit plus the most that they could gain beside this team reaches the best score so far.
    """
    row: int | None = None
    score = -np.inf
    most = problem.most_beside(role, team)
    ceilings = problem.ceilings[role]
    parts = [] if near is None else [near]
    start = 0
    while parts or start < len(ceilings):
        if parts:
            rows = parts.pop()
        else:
            least = np.nextafter(np.float32(score - most), np.float32(-np.inf))
            rows = np.flatnonzero((ceilings[start:start + SCAN_BLOCK] >= least)
                                  & (ceilings[start:start + SCAN_BLOCK] > -np.inf)) + start
            start += SCAN_BLOCK
        rows = rows[rows != team[role]]
        if not len(rows):
            continue
        scores = problem.given(role, rows, team)
        top = float(np.max(scores))
        if top == -np.inf or top < score:
            continue
        tied = [*rows[scores == top].tolist(), *([] if row is None or top > score else [row])]
        row, score = int(problem.pool.by_id(np.unique(np.array(tied, dtype=np.intp)))[0]), top
    return row, score


def best_others(problem: TeamProblem, team: Sequence[int],
                near: Sequence[Rows] | None = None) -> list[tuple[int | None, float]]:
    """`best_other` for each role; `near` has rows to look at first for each."""
    return [best_other(problem, role, team, near[role] if near else None) for role in range(len(team))]


def polish(problem: TeamProblem, team: Sequence[int],
           near: Sequence[Rows] | None = None) -> tuple[list[int], bool]:
    """Replace members while a replacement improves the team, role by role. Returns the team and whether it changed."""
    members, changed, still = list(team), False, 0
    role = 0
    while still < len(members):
        other, score = best_other(problem, role, members, near[role] if near else None)
        now = float(problem.given(role, np.array([members[role]], dtype=np.intp), members)[0])
        if other is not None and score > now:
            members[role], changed, still = other, True, 0
        still += 1
        role = (role + 1) % len(members)
    return members, changed
