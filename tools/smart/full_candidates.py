"""Dense candidates under the full objective: climbs, greedy and utilities count the global terms too.

A climb tries every replacement of one member under the full objective. Where a team is over the budget it first buys
its way back: of all replacements that save money it takes the one that loses least utility per unit that was needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.candidates import Candidates, Teams
from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.objective import GlobalTerms
from enlist.tools.smart.objective.term import Data
from enlist.tools.smart.problem import Rows, TeamProblem


@dataclass(frozen=True, eq=False)
class FullCandidates(Candidates):
    """Candidates with the data of the global terms.

    Attributes:
        terms: the problem's global terms, `data` of each of its weighted ones, [R, K, ...], and `costs`, [R, K].
    """

    terms: GlobalTerms
    data: tuple[Data, ...]
    costs: FloatArray

    @classmethod
    def of(cls, problem: TeamProblem, terms: GlobalTerms, lists: Sequence[Rows]) -> "FullCandidates":
        """As `Candidates.build`, with global terms."""
        plain = Candidates.build(problem, lists)
        rows = np.maximum(plain.rows, 0)  # padding takes any data: its fit is -inf
        data = tuple(np.stack([term.columns(role, rows[role]) for role in range(plain.roles)])
                     for term in terms.weighted)
        costs = np.zeros(rows.shape) if terms.budget is None else \
            np.stack([terms.budget.columns(role, rows[role]) for role in range(plain.roles)])
        return cls(plain.rows, plain.unary, plain.pair, terms, data, costs)

    @property
    def real(self) -> NDArray[np.bool_]:
        """[R, K]: candidates that can be in a team at all."""
        return self.unary > -np.inf

    def restrict(self, keep: NDArray[np.bool_]) -> "tuple[FullCandidates, Rows]":
        plain, chosen = super().restrict(keep)
        roles = np.arange(self.roles)[:, None]
        return FullCandidates(plain.rows, plain.unary, plain.pair, self.terms,
                              tuple(data[roles, chosen] for data in self.data), self.costs[roles, chosen]), chosen

    def utility(self, teams: Teams) -> FloatArray:
        return super().utility(teams) + self.globally(teams)

    def globally(self, teams: Teams) -> FloatArray:
        """[B]: the global terms of each of the B teams; -inf over the budget."""
        roles, total = np.arange(self.roles), np.zeros(len(teams))
        for term, data in zip(self.terms.weighted, self.data, strict=True):
            total = total + term.value(data[roles, teams])
        return np.where(self._excess(teams) > 0, -np.inf, total)

    def climb(self, teams: Teams) -> tuple[Teams, FloatArray]:
        """Steepest 1-opt under the full objective, after what it takes to meet the constraints and the budget."""
        teams, moving = teams.copy(), np.arange(len(teams))
        while len(moving):
            here = teams[moving]
            scores, excess = self._replacements(here)
            gain = self._gain(here, scores, excess).reshape(len(moving), -1)
            best = np.argmax(gain, axis=1)
            better = gain[np.arange(len(moving)), best] > -np.inf
            moving, best = moving[better], best[better]
            teams[moving, best // scores.shape[2]] = best % scores.shape[2]
        return teams, self.utility(teams)

    def greedy(self) -> Teams:
        """[1, R]: role after role, the candidate that adds most and leaves money for the cheapest of the rest."""
        team = np.zeros((1, self.roles), dtype=np.intp)
        score = self.unary.copy()
        members = [np.repeat(term.absent[None], self.roles, axis=0)[None] for term in self.terms.weighted]
        spent = np.zeros(self.roles)
        for role in range(self.roles):
            total = score[role].copy()
            for term, data, chosen in zip(self.terms.weighted, self.data, members, strict=True):
                total += term.replace(chosen, role, data[role])[0]
            if self.terms.budget is not None:
                total[~self.terms.budget.affordable(spent, tuple(range(role, self.roles)), self.costs,
                                                    self.real)[role]] = -np.inf
            member = team[0, role] = np.argmax(total)
            for data, chosen in zip(self.data, members, strict=True):
                chosen[0, role] = data[role, member]
            spent[role] = self.costs[role, member]
            score = score + self.pair[role, member]
        return team

    def _excess(self, teams: Teams) -> FloatArray:
        if self.terms.budget is None:
            return np.zeros(len(teams))
        return self.terms.budget.excess(self.costs[np.arange(self.roles), teams])

    def _replacements(self, teams: Teams) -> tuple[FloatArray, FloatArray]:
        """[B, R, K] twice: the score of each candidate beside the other members, and units over the cap."""
        roles, scores = np.arange(self.roles), self.given(teams)
        for term, data in zip(self.terms.weighted, self.data, strict=True):
            members = data[roles, teams]
            for role in range(self.roles):
                scores[:, role] += term.replace(members, role, data[role])
        excess = np.zeros_like(scores)
        if self.terms.budget is not None:
            members = self.costs[roles, teams]
            for role in range(self.roles):
                excess[:, role] = self.terms.budget.excess_of_replacing(members, role, self.costs[role])
        return scores, excess

    def _gain(self, teams: Teams, scores: FloatArray, excess: FloatArray) -> FloatArray:
        """[B, R, K]: how good each move is, -inf where it is none."""
        now = np.take_along_axis(scores, teams[:, :, None], axis=2)
        over = self._excess(teams)[:, None, None]
        clash = np.any(now == -np.inf, axis=1, keepdims=True)
        rise = np.subtract(scores, now, out=np.full_like(scores, -np.inf), where=(scores > -np.inf) & (now > -np.inf))
        gain = np.where((rise > 0) & (excess == 0), rise, -np.inf)
        buying = np.divide(rise, over - excess, out=np.full_like(scores, -np.inf),
                           where=(over > 0) & (excess < over))
        mending = np.where(now == -np.inf, scores, -np.inf)
        return np.where(clash, mending, np.where(over > 0, buying, gain))


def dense(problem: TeamProblem, lists: Sequence[Rows]) -> Candidates:
    """The dense copy of the problem over one list of pool rows for each role, with its global terms if it has any."""
    if problem.terms is None:
        return Candidates.build(problem, lists)
    return FullCandidates.of(problem, problem.terms, lists)
