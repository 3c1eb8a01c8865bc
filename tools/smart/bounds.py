"""Admissible bounds: no team is better than they say.

The utility is a sum of functions of one and of two roles. Moving a function of one role out of a pair term and into a
fit leaves every team's utility as it was, but changes the simple bound "best of each term by itself". `tighten` makes
such moves until the simple bound is small: the block-coordinate ascent MPLP on the dual of the linear relaxation
(Globerson and Jaakkola, "Fixing Max-Product", NIPS 2007, edge-based update). Moves are rounded to the grid, so the
moved problem is equal to the old one exactly, and bounds hold without a tolerance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.candidates import Candidates
from enlist.tools.smart.grid import FloatArray, half_up
from enlist.tools.smart.problem import TeamProblem


@dataclass(frozen=True, eq=False)
class Tightened:
    """An equal problem with better simple bounds.

    Attributes:
        unary, pair: as in `Candidates`; every pair term is at most 0 after the first sweep.
        reach: reach[r, a, s] = the best pair term of candidate a of role r with any candidate of role s, [R, K, R].
    """

    unary: FloatArray
    pair: FloatArray
    reach: FloatArray

    @property
    def bound(self) -> float:
        """An upper bound of the utility of every team: the best fit of each role and the best term of each pair."""
        return float(np.sum(np.max(self.unary, axis=1)) + np.sum(np.max(self.reach, axis=1)) / 2)

    def through(self) -> FloatArray:
        """[R, K]: an upper bound of the utility of every team with candidate a in role r."""
        if self.bound == -np.inf:
            return np.full_like(self.unary, -np.inf)
        best, pairs = np.max(self.unary, axis=1), np.max(self.reach, axis=1)
        rest = np.sum(best) - best + np.sum(pairs) / 2 - np.sum(pairs, axis=1)
        return self.unary + np.sum(self.reach, axis=2) + rest[:, None]


def tighten(candidates: Candidates, sweeps: int) -> Tightened:
    """`sweeps` rounds of the MPLP edge update over all pairs of roles that share a term or a constraint."""
    unary, pair = candidates.unary.copy(), candidates.pair.copy()
    roles = candidates.roles
    linked = [(first, second) for first in range(roles) for second in range(first + 1, roles)
              if np.any(candidates.pair[first, :, second, :])]
    for _ in range(sweeps):
        for first, second in linked:
            both = pair[first, :, second, :] + unary[first][:, None] + unary[second][None, :]
            unary[first], unary[second] = half_up(np.max(both, axis=1)), half_up(np.max(both, axis=0))
            moved = np.full_like(both, -np.inf)
            np.subtract(both, unary[first][:, None], out=moved, where=both > -np.inf)
            moved -= np.where(unary[second] > -np.inf, unary[second], 0.0)[None, :]
            pair[first, :, second, :], pair[second, :, first, :] = moved, moved.T
    return Tightened(unary, pair, np.max(pair, axis=3))


class Completion:
    """Bounds of partial teams: roles are filled in `order`, and a prefix is candidate numbers of its first roles.

    A pair term between two roles that are both open counts half from each side, at its best.
    """

    def __init__(self, tight: Tightened, order: tuple[int, ...]) -> None:
        self.tight, self.order = tight, order
        self._open: list[FloatArray] = []  # for each depth: fits plus half of what open roles can give, [R, K]
        for depth in range(len(order)):
            rest = np.array(order[depth + 1:], dtype=np.intp)
            self._open.append(tight.unary + np.sum(tight.reach[:, :, rest], axis=2) / 2)

    def children(self, prefix: tuple[int, ...]) -> FloatArray:
        """[K]: an upper bound for each candidate of the next role; exact when at most one role is open after it.

        "Exact" means: the utility of the best team that extends the prefix by this candidate.
        """
        tight, depth = self.tight, len(prefix)
        role, rest = self.order[depth], self.order[depth + 1:]
        filled = self.order[:depth]
        done = tight.pair[filled, prefix]  # [depth, R, K]
        base = sum(tight.unary[filled[i], prefix[i]] + np.sum(done[i, filled[i + 1:], prefix[i + 1:]])
                   for i in range(depth))
        around = np.sum(done, axis=0) if depth else np.zeros_like(tight.unary)
        total = base + tight.unary[role] + around[role]
        for other in rest:
            total = total + np.max((self._open[depth][other] + around[other])[None, :]
                                   + tight.pair[role, :, other, :], axis=1)
        return total

    def best_last(self, prefix: tuple[int, ...], child: int) -> tuple[int, ...]:
        """`prefix` + `child` completed by the best candidate of the one open role, if one is open."""
        tight, chosen = self.tight, (*prefix, child)
        if len(chosen) == len(self.order):
            return chosen
        last, filled = self.order[-1], self.order[:-1]
        return (*chosen, int(np.argmax(tight.unary[last] + np.sum(tight.pair[filled, chosen, last], axis=0))))


def simple_bound(problem: TeamProblem, best_fits: NDArray[np.float64]) -> float:
    """The sum of the roles' best fits plus, for each edge, the greatest beta * synergy that any pair could have."""
    return float(np.sum(best_fits)) + len(problem.edges) * problem.edge_most
