"""The global terms that a problem uses, together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.objective.budget import UNITS, Budget
from enlist.tools.smart.objective.coverage import Coverage
from enlist.tools.smart.objective.latency import Latency
from enlist.tools.smart.objective.load import Load
from enlist.tools.smart.objective.risk import Risk
from enlist.tools.smart.objective.term import Data, Term

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GlobalTerms:
    """A hard budget cap and weighted terms; each may be left out. Methods take agents as pool rows."""

    budget: Budget | None = None
    latency: Latency | None = None
    coverage: Coverage | None = None
    risk: Risk | None = None
    load: Load | None = None

    @cached_property
    def weighted(self) -> tuple[Term, ...]:
        """The terms that are in use, without the budget."""
        return tuple(term for term in (self.latency, self.coverage, self.risk, self.load) if term is not None)

    def check(self, roles: int, agents: int) -> None:
        """`bad_input` where the data of a term do not fit a problem of this size."""
        for part in (self.budget, *self.weighted):
            if part is not None:
                part.check(roles, agents)

    def value(self, team: Sequence[int]) -> float:
        """The sum of the global terms of a team, -inf where it costs more than the cap."""
        if self.budget is not None and self.budget.excess(_members(self.budget, team))[0] > 0:
            return -np.inf
        return float(sum(self.parts(team).values()))

    def parts(self, team: Sequence[int]) -> dict[str, float]:
        """What each term adds to the team's utility, by name (penalties are negative)."""
        return {term.name: float(term.value(_members(term, team))[0]) for term in self.weighted}

    def cost(self, team: Sequence[int]) -> float:
        """The team's expected cost in US dollars; 0 without a budget."""
        return 0.0 if self.budget is None else float(np.sum(_members(self.budget, team))) / UNITS

    def replace(self, team: Sequence[int], role: int, rows: Rows) -> FloatArray:
        """[n]: `value` of the team with each of `rows` in `role`."""
        total = np.zeros(len(rows))
        for term in self.weighted:
            total += term.replace(_members(term, team), role, term.columns(role, rows))[0]
        if self.budget is not None:
            over = self.budget.excess_of_replacing(_members(self.budget, team), role, self.budget.columns(role, rows))
            total[over[0] > 0] = -np.inf
        return total

    def most(self, team: Sequence[int], role: int) -> float:
        """No agent in `role` beside the rest of the team gives more than this."""
        total = 0.0
        for term in self.weighted:
            best = np.zeros_like(term.absent) if isinstance(term, Coverage) else term.absent  # nothing missed
            total += float(term.replace(_members(term, team), role, best[None])[0, 0])
        return total


def _members(part: Budget | Term, team: Sequence[int]) -> Data:
    return np.stack([part.columns(role, np.array([row], dtype=np.intp)) for role, row in enumerate(team)], axis=1)
