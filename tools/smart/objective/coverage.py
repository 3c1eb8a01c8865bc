"""Coverage: how likely somebody of the team masters each required skill. A second expert adds less than the first.

    coverage(a) = sum over skills k of g(w_k * (1 - product over roles r of (1 - level[r, a_r, k])))

Levels are chances in [0, 1] that the agent masters the skill, w_k is in utility, and g rounds to the grid. Products are
taken in role order, so that a team has one value to the last bit.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.grid import TERM_LIMIT, TERM_STEP, FloatArray, term_grid
from enlist.tools.smart.objective.term import Data, Relaxed, Term, at, check_column, check_weight, refused, upwards

BLOCK = 1 << 12  # options at a time, so that the products stay in the cache


@dataclass(frozen=True, eq=False)
class Coverage(Term):
    """`levels` of each agent in each of S skills, [N, S] or [R, N, S], in [0, 1]; `weights` of the skills, [S].

    The term's data are the misses 1 - level.
    """

    levels: Data
    weights: Data
    name: ClassVar[str] = "coverage"

    def check(self, roles: int, agents: int) -> None:
        if np.ndim(self.weights) != 1 or not len(self.weights):
            raise refused("the weights of skills have a wrong shape", np.shape(self.weights),
                          "one weight for each skill", "give an array [S]")
        check_weight("the least weight of a skill", float(np.min(self.weights)))
        check_weight("the sum of the skills' weights", float(np.sum(self.weights)), TERM_LIMIT)
        check_column("levels of agents", self.levels, roles, agents, 0.0, 1.0, len(self.weights))

    def columns(self, role: int, rows: NDArray[np.intp] | slice) -> FloatArray:
        return 1.0 - at(self.levels, 2, role, rows).astype(np.float64)

    @property
    def absent(self) -> Data:
        return np.ones(len(self.weights))

    def value(self, members: Data) -> FloatArray:
        product = np.ones((len(members), members.shape[2]))
        for role in range(members.shape[1]):
            product = product * members[:, role]
        return self._worth(product)

    def replace(self, members: Data, role: int, options: Data) -> FloatArray:
        before = np.ones((len(members), members.shape[2]))
        for other in range(role):
            before = before * members[:, other]
        found = np.empty((len(members), len(options)))
        for start in range(0, len(options), BLOCK):
            product = before[:, None, :] * options[None, start:start + BLOCK, :]
            for other in range(role + 1, members.shape[1]):
                product *= members[:, None, other]
            found[:, start:start + BLOCK] = self._worth(product)
        return found

    def ideal(self, options: Data) -> Data:
        return np.min(options, axis=0)

    def relax(self, members: Data, open_roles: tuple[int, ...], options: Data, real: NDArray[np.bool_]) -> Relaxed:
        """With least misses m_r and x_r >= 0: product of m_r (1 + x_r) >= product of m_r times (1 + sum of x_r)."""
        least = members.copy()
        for role in open_roles:
            least[role] = np.min(options[role], axis=0, where=real[role][:, None], initial=1.0)
        constant = np.sum(np.asarray(self.weights) * (1.0 - np.prod(least, axis=0)))
        share = np.zeros(real.shape)
        for role in open_roles:
            others = np.prod(np.delete(least, role, axis=0), axis=0) * self.weights
            share[role] = upwards(-np.sum((options[role] - least[role]) * others, axis=1))
        rounded = float(upwards(np.array(constant))) + len(self.weights) * TERM_STEP / 2  # g rounds each skill
        return float(upwards(np.array(rounded))), share

    def _worth(self, product: FloatArray) -> FloatArray:
        return np.sum(term_grid(np.asarray(self.weights, dtype=np.float64) * (1.0 - product)), axis=-1)
