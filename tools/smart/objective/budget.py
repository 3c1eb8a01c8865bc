"""The budget cap: a team's expected cost may not exceed it.

    cost(a) = sum over roles r of c[r, a_r] <= cap

Costs and cap are in US dollars, rounded to whole billionths of a dollar: sums of these are exact, so ten times ten
cents fit a budget of a dollar.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.objective.term import Data, at, check_column, check_weight

UNITS = 1e9  # of a dollar
DOLLARS_MOST = 1e5  # an agent; 32 of them stay below 2**53 units


@dataclass(frozen=True, eq=False)
class Budget:
    """The expected cost of the team is at most `cap` US dollars; `cost` of each agent, [N] or [R, N], US dollars.

    Costs inside are whole units of 1e-9 dollars, as float64.
    """

    cost: Data
    cap: float

    def check(self, roles: int, agents: int) -> None:
        """`bad_input` where the data do not fit a problem of this size."""
        check_column("the cost of agents", self.cost, roles, agents, 0.0, DOLLARS_MOST)
        check_weight("the budget cap", self.cap, DOLLARS_MOST * roles)

    def columns(self, role: int, rows: NDArray[np.intp] | slice) -> FloatArray:
        """Costs of `rows` in `role`, in units."""
        return np.rint(at(self.cost, 1, role, rows).astype(np.float64) * UNITS)

    @property
    def units(self) -> float:
        """The cap in units."""
        return float(np.rint(self.cap * UNITS))

    def excess(self, members: FloatArray) -> FloatArray:
        """[B]: units by which each of B teams [B, R] is over the cap, 0 where it is not."""
        return np.maximum(np.sum(members, axis=1) - self.units, 0.0)

    def excess_of_replacing(self, members: FloatArray, role: int, options: FloatArray) -> FloatArray:
        """[B, n]: `excess` with each of the options in `role`."""
        rest = np.sum(members, axis=1) - members[:, role]
        return np.maximum(rest[:, None] + options[None, :] - self.units, 0.0)

    def affordable(self, members: FloatArray, open_roles: tuple[int, ...], options: FloatArray,
                   real: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[R, K]: candidates of open roles that some completion of `members` [R] might pay for; True elsewhere."""
        fits = np.ones_like(real)
        roles = list(open_roles)
        least = np.min(np.where(real[roles], options[roles], np.inf), axis=1)
        left = self.units - (np.sum(members) - np.sum(members[roles]))
        if np.all(np.isfinite(least)):
            fits[roles] = options[roles] + (np.sum(least) - least)[:, None] <= left
        return fits
