"""Team risk: the standard deviation of the team's utility where the members' own are independent.

    risk(a) = g(kappa * sqrt(sum over roles r of v[r, a_r]))

v is the variance of the agent's utility in the role, rounded to 2**-40 (sums are exact), kappa the utility given up for
one standard deviation, and g rounds to the grid. Variances add and their root does not: one uncertain member costs most
in a certain team.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import TERM_STEP, FloatArray, term_grid
from enlist.tools.smart.objective.term import Data, Relaxed, Term, at, check_column, check_weight, upwards

VARIANCE_STEP = 2.0**-40
VARIANCE_MOST = 256.0  # 32 of them keep 53 bits on the grid
KAPPA_MOST = 8.0  # standard deviations; keeps the term below 1024


@dataclass(frozen=True, eq=False)
class Risk(Term):
    """`variance` of each agent's utility, [N] or [R, N], in [0, 256]; `kappa`, utility per standard deviation."""

    variance: Data
    kappa: float
    name: ClassVar[str] = "risk"

    def check(self, roles: int, agents: int) -> None:
        check_column("the variance of agents", self.variance, roles, agents, 0.0, VARIANCE_MOST)
        check_weight("kappa", self.kappa, KAPPA_MOST)

    def columns(self, role: int, rows: NDArray[np.intp] | slice) -> FloatArray:
        return np.rint(at(self.variance, 1, role, rows).astype(np.float64) / VARIANCE_STEP) * VARIANCE_STEP

    @property
    def absent(self) -> Data:
        return np.zeros(())

    def value(self, members: Data) -> FloatArray:
        return -self._deviation(np.sum(members, axis=1))

    def replace(self, members: Data, role: int, options: Data) -> FloatArray:
        rest = np.sum(members, axis=1) - members[:, role]
        return -self._deviation(rest[:, None] + options[None, :])

    def ideal(self, options: Data) -> Data:
        return np.min(options, axis=0)

    def relax(self, members: Data, open_roles: tuple[int, ...], options: Data, real: NDArray[np.bool_]) -> Relaxed:
        """The root is concave: it lies above the chord between the least and the greatest variance in reach."""
        roles = list(open_roles)
        least = np.array([np.min(options[role], where=real[role], initial=VARIANCE_MOST) for role in roles])
        most = np.array([np.max(options[role], where=real[role], initial=0.0) for role in roles])
        sure = np.sum(members) - np.sum(members[roles])
        low, high = np.sqrt(sure + np.sum(least)), np.sqrt(sure + np.sum(np.maximum(least, most)))
        share = np.zeros(real.shape)
        if high > low:
            slope = self.kappa / (low + high)  # (high - low) / (high**2 - low**2)
            share[roles] = upwards(-slope * (options[roles] - least[:, None]))
        return float(upwards(np.array(-self.kappa * low))) + TERM_STEP, share

    def _deviation(self, variance: FloatArray) -> FloatArray:
        return term_grid(self.kappa * np.sqrt(variance))
