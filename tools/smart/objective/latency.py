"""Parallel latency: how long the plan takes when roles that do not wait for each other run at the same time.

    latency(a) = max over directed paths of the plan's DAG of the sum over the path's roles r of g(weight * s[r, a_r])

s is in seconds, the weight in utility per second, and g rounds to the grid: the critical path, not the sum of all.
"""

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import TERM_LIMIT, FloatArray, term_grid
from enlist.tools.smart.objective.term import Data, Relaxed, Term, at, check_column, check_weight, refused
from enlist.tools.smart.topology import Edge


@dataclass(frozen=True, eq=False)
class Latency(Term):
    """`seconds` of each agent, [N] or [R, N]; `weight` in utility per second; `arcs` of the DAG as (earlier, later)
    role numbers. A role without arcs is a path of its own. A delay (weight times seconds) may not exceed 1024."""

    seconds: Data
    weight: float
    arcs: tuple[Edge, ...]
    name: ClassVar[str] = "latency"

    def check(self, roles: int, agents: int) -> None:
        check_weight("the weight of latency", self.weight)
        most = TERM_LIMIT / self.weight if self.weight else np.finfo(np.float64).max
        check_column("seconds of agents", self.seconds, roles, agents, 0.0, most)
        if any(not (0 <= one < roles and 0 <= other < roles) for one, other in self.arcs):
            raise refused("an arc of the plan names no role", list(self.arcs), f"role numbers in [0, {roles - 1}]",
                          "number the roles as in `roles`")
        try:
            self._order(roles)
        except CycleError as error:
            raise refused("the plan's arcs turn in a circle", error.args[1], "a directed acyclic graph",
                          "remove one arc") from error

    def columns(self, role: int, rows: NDArray[np.intp] | slice) -> FloatArray:
        return term_grid(self.weight * at(self.seconds, 1, role, rows).astype(np.float64))

    @property
    def absent(self) -> Data:
        return np.zeros(())

    def value(self, members: Data) -> FloatArray:
        return -np.max(self._ends(members), axis=1)

    def replace(self, members: Data, role: int, options: Data) -> FloatArray:
        members = members.copy()
        members[:, role] = 0.0
        around = self._ends(members)[:, role] + self._ends(members, turned=True)[:, role]
        members[:, role] = -np.inf  # no path through the role
        beside = np.max(self._ends(members), axis=1)
        return -np.maximum(beside[:, None], around[:, None] + options[None, :])

    def ideal(self, options: Data) -> Data:
        return np.min(options, axis=0)

    def relax(self, members: Data, open_roles: tuple[int, ...], options: Data, real: NDArray[np.bool_]) -> Relaxed:
        """The delay along one path, the critical one where every open role is as quick as it can be."""
        quickest = members.copy()
        for role in open_roles:
            quickest[role] = np.min(options[role], where=real[role], initial=TERM_LIMIT)
        ends = self._ends(quickest[None, :])[0]
        here = int(np.argmax(ends))
        path = [here]
        while self._before.get(here):
            here = max(self._before[here], key=lambda role: (ends[role], -role))
            path.append(here)
        share = np.zeros(real.shape)
        for role in set(path) & set(open_roles):
            share[role] = -options[role]
        return -float(sum(members[role] for role in path if role not in open_roles)), share

    @cached_property
    def _before(self) -> dict[int, list[int]]:
        before: dict[int, list[int]] = {}
        for one, other in sorted(set(self.arcs)):
            before.setdefault(other, []).append(one)
        return before

    @cached_property
    def _after(self) -> dict[int, list[int]]:
        after: dict[int, list[int]] = {}
        for one, other in sorted(set(self.arcs)):
            after.setdefault(one, []).append(other)
        return after

    def _order(self, roles: int) -> list[int]:
        return list(TopologicalSorter({role: self._before.get(role, []) for role in range(roles)}).static_order())

    def _ends(self, members: FloatArray, turned: bool = False) -> FloatArray:
        """[B, R]: the longest path that ends (begins, where `turned`) with each role."""
        ends = np.array(members, dtype=np.float64)
        order, before = self._order(members.shape[1]), self._after if turned else self._before
        for role in reversed(order) if turned else order:
            if role in before:
                ends[:, role] += np.maximum(np.max(ends[:, before[role]], axis=1), 0.0)
        return ends
