"""A small dense copy of the problem: K candidates for each role and every pair term between them.

The search works here with table look-ups only. Candidates of a role are kept in the order of their card ids, so that
"the first of the best" breaks every tie by card id whatever the order of the pool's rows. A team is an array of R
candidate numbers; `rows` leads back to the pool.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.problem import Rows, TeamProblem

Teams = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Candidates:
    """K candidates for each of R roles; shorter lists are padded with fits of -inf.

    Attributes:
        rows: pool rows, [R, K]; -1 is padding.
        unary: fits, [R, K].
        pair: pair[r, a, s, b] is the pair term of candidate a of role r beside candidate b of role s, [R, K, R, K].
    """

    rows: Rows
    unary: FloatArray
    pair: FloatArray

    @classmethod
    def build(cls, problem: TeamProblem, lists: Sequence[Rows]) -> "Candidates":
        """The dense copy over one list of pool rows for each role; ineligible rows are dropped."""
        eligible = [rows[problem.fits(role, rows) > -np.inf] for role, rows in enumerate(lists)]
        kept = [problem.pool.by_id(rows) for rows in eligible]
        count, width = len(kept), max(1, max(len(rows) for rows in kept))
        rows = np.full((count, width), -1, dtype=np.intp)
        unary = np.full((count, width), -np.inf)
        pair = np.zeros((count, width, count, width))
        for role, mine in enumerate(kept):
            rows[role, :len(mine)] = mine
            unary[role, :len(mine)] = problem.fits(role, mine)
            for other in range(role):
                theirs = kept[other]
                values = problem.pair(role, other, mine, theirs)
                pair[role, :len(mine), other, :len(theirs)] = values
                pair[other, :len(theirs), role, :len(mine)] = values.T
        return cls(rows, unary, pair)

    @property
    def roles(self) -> int:
        return len(self.unary)

    @property
    def sizes(self) -> list[int]:
        """Candidates of each role, padding not counted."""
        return [int(count) for count in np.sum(self.rows >= 0, axis=1)]

    def restrict(self, keep: NDArray[np.bool_]) -> "tuple[Candidates, Rows]":
        """The candidates where `keep` [R, K] holds, and [R, K'] the old number of each (0 for padding)."""
        width = max(1, int(np.max(np.sum(keep, axis=1))))
        chosen = np.zeros((self.roles, width), dtype=np.intp)
        real = np.zeros((self.roles, width), dtype=bool)
        for role in range(self.roles):
            mine = np.flatnonzero(keep[role])
            chosen[role, :len(mine)], real[role, :len(mine)] = mine, True
        role_of = np.arange(self.roles)
        rows = np.where(real, np.take_along_axis(self.rows, chosen, axis=1), -1)
        unary = np.where(real, np.take_along_axis(self.unary, chosen, axis=1), -np.inf)
        pair = self.pair[role_of[:, None, None, None], chosen[:, :, None, None], role_of[None, None, :, None],
                         chosen[None, None, :, :]]
        return Candidates(rows, unary, pair), chosen

    def given(self, teams: Teams) -> FloatArray:
        """[B, R, K]: score of each candidate of each role beside the other members of each of the B teams."""
        around = self.pair[np.arange(self.roles), teams]  # [B, R, R, K]; a member's terms with its own role are 0
        return self.unary + np.sum(around, axis=1)

    def utility(self, teams: Teams) -> FloatArray:
        """[B]: U of each of the B teams; -inf where a hard constraint is broken."""
        roles = np.arange(self.roles)
        unary = np.sum(self.unary[roles, teams], axis=1)
        around = self.pair[roles[:, None], teams[:, :, None], roles[None, :], teams[:, None, :]]
        return unary + np.sum(around, axis=(1, 2)) / 2

    def climb(self, teams: Teams) -> tuple[Teams, FloatArray]:
        """Steepest 1-opt: while some single replacement improves a team, make the best one. Returns teams and U.

        A start that breaks a constraint is repaired when one replacement can; U is -inf when none could.
        """
        teams = teams.copy()
        batch, moving = np.arange(len(teams)), np.arange(len(teams))
        while len(moving):
            scores = self.given(teams[moving])
            now = np.take_along_axis(scores, teams[moving][:, :, None], axis=2)
            gain = np.full_like(scores, -np.inf)
            np.subtract(scores, now, out=gain, where=scores > -np.inf)
            flat = gain.reshape(len(moving), -1)
            best = np.argmax(flat, axis=1)
            better = flat[batch[:len(moving)], best] > 0
            moving, best = moving[better], best[better]
            teams[moving, best // scores.shape[2]] = best % scores.shape[2]
        return teams, self.utility(teams)

    def random_teams(self, count: int, random: np.random.Generator) -> Teams:
        """[count, R] teams drawn evenly and independently for each role; clashes are left to `climb` to repair."""
        return (random.random((count, self.roles)) * np.array(self.sizes)).astype(np.intp)

    def greedy(self) -> Teams:
        """[1, R]: each role in turn takes the best candidate beside the members chosen so far."""
        team = np.zeros((1, self.roles), dtype=np.intp)
        score = self.unary.copy()
        for role in range(self.roles):
            team[0, role] = np.argmax(score[role])
            score = score + self.pair[role, team[0, role]]
        return team
