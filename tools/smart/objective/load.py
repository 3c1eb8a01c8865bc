"""Convex load: members that share a backend (a model endpoint, a machine) wait for each other, more with each one.

    load(a) = sum over backends b of g(weight * max(0, n_b - free)**2),  n_b = members whose backend is b

The weight is in utility, `free` members of a backend cost nothing, and g rounds to the grid. A negative backend is
shared with nobody.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import FloatArray, term_grid
from enlist.tools.smart.objective.term import Data, Relaxed, Term, at, check_column, check_weight, refused

ABSENT = np.iinfo(np.int64).min
CODE_MOST = 2**62


@dataclass(frozen=True, eq=False)
class Load(Term):
    """`backend` of each agent as an integer code, [N] or [R, N]; `weight` in utility, at most 1; `free` members."""

    backend: Data
    weight: float
    free: int = 1
    name: ClassVar[str] = "load"

    def check(self, roles: int, agents: int) -> None:
        if not np.issubdtype(np.asarray(self.backend).dtype, np.integer):
            raise refused("backends have a wrong type", np.asarray(self.backend).dtype, "integers",
                          "number the backends")
        check_column("backends of agents", self.backend, roles, agents, -CODE_MOST, CODE_MOST)
        check_weight("the weight of load", self.weight, 1.0)
        check_weight("the free members of a backend", self.free)

    def columns(self, role: int, rows: NDArray[np.intp] | slice) -> Data:
        return at(self.backend, 1, role, rows).astype(np.int64)

    @property
    def absent(self) -> Data:
        return np.array(ABSENT, dtype=np.int64)

    def value(self, members: Data) -> FloatArray:
        total = np.zeros(len(members))
        for role in range(members.shape[1]):  # what each adds to those before it
            total += self._added(members[:, :role], members[:, role, None])[:, 0]
        return -total

    def replace(self, members: Data, role: int, options: Data) -> FloatArray:
        rest = np.delete(members, role, axis=1)
        return self.value(rest)[:, None] - self._added(rest, options[None, :])

    def ideal(self, options: Data) -> Data:
        return np.full(options.shape[1:], ABSENT, dtype=np.int64)

    def relax(self, members: Data, open_roles: tuple[int, ...], options: Data, real: NDArray[np.bool_]) -> Relaxed:
        """Convex: what a member adds to the filled roles alone is the least that it can add."""
        filled = np.delete(members, list(open_roles))[None, :]
        share = np.zeros(real.shape)
        for role in open_roles:
            share[role] = -self._added(filled, options[role][None, :])[0]
        return float(self.value(filled)[0]), share

    def _penalty(self, count: NDArray[np.intp]) -> FloatArray:
        return term_grid(self.weight * np.square(np.maximum(count - self.free, 0).astype(np.float64)))

    def _added(self, members: Data, options: Data) -> FloatArray:
        """[B, n]: what each of the options [B or 1, n] adds to the load of teams [B, any]."""
        company = np.zeros((len(members), options.shape[1]), dtype=np.intp)
        for other in range(members.shape[1]):
            company += (members[:, other, None] == options) & (options >= 0)
        return np.where(options == ABSENT, 0.0, self._penalty(company + 1) - self._penalty(company))
