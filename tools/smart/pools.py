"""Two seeded models of a pool, for tests and benchmarks. Every id starts with "synthetic-": nobody is enlisted.

`skill_vectors`: agents and roles are unit vectors of 16 skills; fit = (1 + cosine) / 2 * accuracy - cost.
`realistic_cards`: cards of a few dozen specialists: capability tags with levels in steps, many near-duplicates that
differ in one knob, a few stars that lead in many tags; synergy follows the specialists' ways of working.
Both give every card one of six routes (a specialist's cards share theirs).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.problem import PoolColumns, TeamProblem
from enlist.tools.smart.topology import Edge, topology

SKILLS, STYLES = 16, 8
TAGS = 12
ROUTES = 6
NEAR_DUPLICATES = 8  # cards for each specialist, about


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row scaled to length 1."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def skill_vectors(agents: int, roles: int, seed: int) -> tuple[PoolColumns, NDArray[np.float64]]:
    """A pool of random skill vectors and its fits [roles, agents]."""
    random = np.random.Generator(np.random.PCG64([1, seed]))
    skills, wanted = unit(random.normal(size=(agents, SKILLS))), unit(random.normal(size=(roles, SKILLS)))
    accuracy, cost = random.beta(6, 3, size=agents), random.random(agents)
    fits = 0.5 * (1 + wanted @ skills.T) * accuracy - 0.05 * cost
    vectors = unit(random.normal(size=(agents, STYLES)))
    return PoolColumns(_ids(agents), vectors.astype(np.float32), random.integers(ROUTES, size=agents)), fits


def realistic_cards(agents: int, roles: int, seed: int) -> tuple[PoolColumns, NDArray[np.float64]]:
    """A pool of realistic cards and its fits [roles, agents]; a card without a role's first tag is ineligible."""
    random = np.random.Generator(np.random.PCG64([2, seed]))
    kinds = max(roles, agents // NEAR_DUPLICATES)
    levels = np.where(random.random((kinds, TAGS)) < 0.45, random.integers(8, 15, size=(kinds, TAGS)) / 20, 0.0)
    stars = random.choice(kinds, size=max(1, kinds // 12), replace=False)
    levels[stars] = np.maximum(levels[stars], random.integers(13, 17, size=(len(stars), TAGS)) / 20)
    styles = unit(random.normal(size=(kinds, STYLES)))
    kind = random.integers(kinds, size=agents)
    card = levels[kind] + np.where(levels[kind] > 0, random.integers(-1, 2, size=(agents, TAGS)) / 40, 0.0)
    vectors = unit(styles[kind] + 0.15 * random.normal(size=(agents, STYLES)))
    first, second = random.integers(TAGS, size=roles), random.integers(TAGS, size=roles)
    cost = np.round(random.random(agents), 1)
    fits = np.where(card[:, first].T > 0, 0.75 * card[:, first].T + 0.25 * card[:, second].T - 0.05 * cost, -np.inf)
    return PoolColumns(_ids(agents), vectors.astype(np.float32), kind % ROUTES), fits


MODELS: dict[str, Callable[[int, int, int], tuple[PoolColumns, NDArray[np.float64]]]] = {
    "skill-vectors": skill_vectors, "realistic-cards": realistic_cards}


def synthetic_problem(model: str, shape: str, *, agents: int = 300, roles: int = 5, seed: int = 0,
                      beta: float = 0.15, differ: tuple[Edge, ...] = ()) -> TeamProblem:
    """A seeded problem over a pool model and a topology by name; `bad_input` for unknown names."""
    if model not in MODELS:
        raise EnlistError("bad_input", "unknown pool model", given=repr(model), allowed=", ".join(MODELS),
                          fix="name one of these")
    pool, fits = MODELS[model](agents, roles, seed)
    return TeamProblem(pool, tuple(f"role-{number}" for number in range(roles)), topology(shape, roles), fits,
                       beta, differ=differ)


def _ids(agents: int) -> tuple[str, ...]:
    width = len(str(agents - 1))
    return tuple(f"synthetic-{number:0{width}d}" for number in range(agents))
