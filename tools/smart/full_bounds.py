"""Admissible bounds under the full objective.

Each global term bounds all completions of a prefix by a sum over the open roles (`Term.relax`), the budget by a price
on money (Lagrange): U <= U + price * (cap - cost). Sums of admissible bounds are admissible, and sums over roles join
the fits, so that the bounds of `enlist.tools.smart.bounds` apply to fits, synergies and global terms at once. With two
roles open nothing is bounded: every pair of candidates is valued under the full objective itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.bounds import Completion, Tightened
from enlist.tools.smart.candidates import Candidates
from enlist.tools.smart.full_candidates import FullCandidates
from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.objective.term import upwards
from enlist.tools.smart.problem import TeamProblem

HALVINGS = 40  # of the interval that holds the price


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A problem without global terms whose utility is at least the full one's for every team within the budget.

    Attributes:
        additive: its candidates. share: what was added to the fits, [R, K]. price: utility per unit of money.
    """

    additive: Candidates
    share: FloatArray
    price: float


def relax(candidates: Candidates) -> Relaxation:
    """The relaxation at the root; the candidates themselves where they have no global terms."""
    if not isinstance(candidates, FullCandidates):
        return Relaxation(candidates, np.zeros(()), 0.0)
    everything, nobody = tuple(range(candidates.roles)), np.zeros(candidates.roles, dtype=np.intp)
    constant, share, able = _relaxed(candidates, nobody, everything)
    share = np.where(able, share, -np.inf)
    budget = candidates.terms.budget
    price = 0.0 if budget is None else market_price(candidates.unary + share, candidates.costs, budget.units)
    constant, share = _with_price(candidates, constant, share, price, nobody, everything)
    share[0] += constant
    additive = Candidates(candidates.rows, candidates.unary + share, candidates.pair)
    return Relaxation(additive, share, price)


def _relaxed(candidates: FullCandidates, team: NDArray[np.intp],
             open_roles: tuple[int, ...]) -> tuple[float, FloatArray, NDArray[np.bool_]]:
    """Constant, shares [R, K] and affordable candidates [R, K] over completions of `team` in the open roles."""
    roles, real = np.arange(candidates.roles), candidates.real
    constant, share, able = 0.0, np.zeros(real.shape), np.ones_like(real)
    for term, data in zip(candidates.terms.weighted, candidates.data, strict=True):
        more, shares = term.relax(data[roles, team], open_roles, data, real)
        constant, share = constant + more, share + shares
    if candidates.terms.budget is not None:
        able = candidates.terms.budget.affordable(candidates.costs[roles, team], open_roles, candidates.costs, real)
    return constant, share, able


def _with_price(candidates: FullCandidates, constant: float, share: FloatArray, price: float,
                team: NDArray[np.intp], open_roles: tuple[int, ...]) -> tuple[float, FloatArray]:
    if not price or candidates.terms.budget is None:
        return constant, share.copy()
    filled = [role for role in range(candidates.roles) if role not in open_roles]
    left = candidates.terms.budget.units - float(np.sum(candidates.costs[filled, team[filled]]))
    paid = np.zeros_like(share)
    paid[list(open_roles)] = upwards(-price * candidates.costs[list(open_roles)])
    return constant + float(upwards(np.array(price * left))), share + paid


def market_price(worth: Sequence[FloatArray] | FloatArray, costs: Sequence[FloatArray] | FloatArray,
                 cap: float) -> float:
    """The price of a unit of money at which the roles' best candidates by worth less cost just stay within the cap.

    `worth` and `costs` hold one array for each role; 0 where the cap does not bind.
    """
    def spent(price: float) -> float:
        return sum(float(cost[np.argmax(value - price * cost)]) for value, cost in zip(worth, costs, strict=True))

    if spent(0.0) <= cap:
        return 0.0
    low, high = 0.0, 1.0 / max(cap, 1.0)
    for _ in range(HALVINGS):
        if spent(high) <= cap:
            break
        low, high = high, 4 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) <= cap else (middle, high)
    return high


def ceiling(problem: TeamProblem) -> float:
    """No team of the pool has global terms of a greater sum: those of a team that is ideal in every respect."""
    total = 0.0
    for term in problem.terms.weighted if problem.terms else ():
        ideals = []
        for role in range(len(problem.roles)):
            blocks = [term.ideal(term.columns(role, start + np.flatnonzero(fits > -np.inf)))
                      for start, fits in problem.scan(role) if np.any(fits > -np.inf)]
            ideals.append(term.ideal(np.stack(blocks)))
        total += float(term.value(np.stack(ideals)[None])[0])
    return total


def completion_of(candidates: Candidates, relaxation: Relaxation, tight: Tightened,
                  order: tuple[int, ...]) -> Completion:
    """The completion bounds that fit the candidates' objective."""
    if isinstance(candidates, FullCandidates):
        return FullCompletion(tight, order, candidates, relaxation)
    return Completion(tight, order)


class FullCompletion(Completion):
    """Bounds of partial teams under the full objective; `tight` is tightened from `relaxation.additive`."""

    def __init__(self, tight: Tightened, order: tuple[int, ...], candidates: FullCandidates,
                 relaxation: Relaxation) -> None:
        super().__init__(tight, order)
        self.candidates, self.prices = candidates, sorted({0.0, relaxation.price})
        able = tight.unary > -np.inf
        self.fits = np.subtract(tight.unary, relaxation.share, out=np.full_like(tight.unary, -np.inf), where=able)

    def children(self, prefix: tuple[int, ...]) -> FloatArray:
        """[K]: an upper bound for each candidate of the next role; exact when at most one role is open after it."""
        depth = len(prefix)
        if len(self.order) - depth <= 2:
            return np.max(self._exact(prefix, None), axis=1)
        role, rest = self.order[depth], self.order[depth + 1:]
        base, around = self._filled(prefix)
        team = np.zeros(len(self.order), dtype=np.intp)
        team[list(self.order[:depth])] = prefix
        constant, share, able = _relaxed(self.candidates, team, self.order[depth:])
        best = np.full(share.shape[1], np.inf)
        for price in self.prices:
            more, shares = _with_price(self.candidates, constant, share, price, team, self.order[depth:])
            fits = np.where(able, self.fits + shares, -np.inf) + around
            total = base + more + fits[role]
            for other in rest:
                half = np.sum(self.tight.reach[other][:, rest], axis=1) / 2
                total = total + np.max((fits[other] + half)[None, :] + self.tight.pair[role, :, other, :], axis=1)
            best = np.minimum(best, total)
        return best

    def best_last(self, prefix: tuple[int, ...], child: int) -> tuple[int, ...]:
        chosen = (*prefix, child)
        if len(chosen) == len(self.order):
            return chosen
        return (*chosen, int(np.argmax(self._exact(prefix, child)[0])))

    def _filled(self, prefix: tuple[int, ...]) -> tuple[float, FloatArray]:
        """Fits and pair terms within the prefix, and pair terms of every candidate with it, [R, K]."""
        filled = self.order[:len(prefix)]
        done = self.tight.pair[filled, prefix]
        base = sum(self.fits[filled[i], prefix[i]] + np.sum(done[i, filled[i + 1:], prefix[i + 1:]])
                   for i in range(len(prefix)))
        return float(base), np.sum(done, axis=0) if len(prefix) else np.zeros_like(self.fits)

    def _exact(self, prefix: tuple[int, ...], child: int | None) -> FloatArray:
        """[K or 1, K]: the utility of `prefix` with each candidate (or `child`) and each one of the last role; [K, 1]
        where `prefix` leaves one role open."""
        held, role = self.candidates, self.order[len(prefix)]
        children = np.arange(self.fits.shape[1]) if child is None else np.array([child])
        base, around = self._filled(prefix)
        teams = np.zeros((len(children), len(self.order)), dtype=np.intp)
        teams[:, list(self.order[:len(prefix)])] = prefix
        teams[:, role] = children
        total = (base + self.fits[role] + around[role])[children][:, None]
        last = self.order[-1]
        if last == role:
            return total + held.globally(teams)[:, None]
        roles = np.arange(held.roles)
        total = total + (self.fits[last] + around[last])[None, :] + self.tight.pair[role, children, last, :]
        for term, data in zip(held.terms.weighted, held.data, strict=True):
            total = total + term.replace(data[roles, teams], last, data[last])
        if held.terms.budget is not None:
            over = held.terms.budget.excess_of_replacing(held.costs[roles, teams], last, held.costs[last])
            total[over > 0] = -np.inf
        return total
