"""Small random problems whose numbers are short binary fractions, and a brute force that shares no code with SMART."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from enlist.tools.smart import PoolColumns, TeamProblem


@dataclass(frozen=True)
class Small:
    """A problem and the utility of every conceivable team, [N] * R, -inf where a constraint is broken."""

    problem: TeamProblem
    utilities: np.ndarray

    @property
    def best(self) -> float:
        return float(np.max(self.utilities))


def _axes(matrix: np.ndarray, one: int, other: int, roles: int) -> np.ndarray:
    """A matrix over roles `one` < `other` in the shape that broadcasts over all teams."""
    shape = [1] * roles
    shape[one], shape[other] = matrix.shape
    return matrix.reshape(shape)


def make_small(seed: int, *, agents: int = 6, roles: int = 4, density: float = 0.6, ineligible: float = 0.1,
               differ: bool = True, decimals: int = 64) -> Small:
    """Fits in steps of 1 / `decimals` (few steps: many ties), beta 1/8, a random graph, sometimes routes."""
    random = np.random.default_rng(seed)
    fits = random.integers(0, decimals + 1, size=(roles, agents)) / decimals
    fits[random.random(fits.shape) < ineligible] = -np.inf
    vectors = random.integers(-8, 9, size=(agents, 3)) / 8
    routes = random.integers(-1, 3, size=agents)
    pairs = [(one, other) for one in range(roles) for other in range(one + 1, roles)]
    edges = tuple(pair for pair in pairs if random.random() < density)
    apart = tuple(pair for pair in pairs if differ and random.random() < 0.2)
    utilities = np.zeros([agents] * roles)
    for role in range(roles):
        shape = [1] * roles
        shape[role] = agents
        utilities = utilities + fits[role].reshape(shape)
    synergy = vectors @ vectors.T
    same_route = (routes[:, None] == routes[None, :]) & (routes[:, None] >= 0)
    for one, other in pairs:
        clash = np.eye(agents, dtype=bool) | (same_route if (one, other) in apart else False)
        term = np.where(clash, -np.inf, synergy / 8 if (one, other) in edges else 0.0)
        utilities = utilities + _axes(term, one, other, roles)
    order = random.permutation(agents)
    pool = PoolColumns([f"card-{number}" for number in order], vectors.astype(np.float32), routes)
    names = tuple(f"role-{role}" for role in range(roles))
    return Small(TeamProblem(pool, names, edges, fits, 0.125, differ=apart), utilities)


@pytest.fixture(scope="session")
def small() -> Callable[..., Small]:
    return make_small
