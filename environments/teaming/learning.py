"""Learning measured: `python -m enlist.environments.teaming.learning [seeds]` prints regret per task as JSON.

200 tasks in a row over one synthetic pool: 5 roles in a chain, 40 agents of 10 specialists able for each role. An
agent's hidden quality is its specialist's plus a little; its prior is that quality with an error, most of which it
shares with its specialist. Each task takes the team with the highest predicted utility, every member then scores good
or bad by its hidden quality, and the policy sees these scores and nothing else. Regret of a task: the best team's
expected utility minus the chosen one's. The policies meet the same pools and the same luck.

`learning`: what a campaign does (`enlist.agents.learning.worth`). `exploits`: the best posterior mean each time, which
is what runs for users do. `exploits alone`: the same without learning across a specialist's agents. `never`: the prior
for ever.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enlist.agents.learning import FloatArray, Posterior, posterior, worth
from enlist.tools.smart import PoolColumns, TeamProblem, chain, search
from enlist.tools.smart.pools import STYLES, unit

TASKS, ROLES, ABLE, SPECIALISTS = 200, 5, 40, 10
SHARED_ERROR, OWN_ERROR = 0.16, 0.07  # standard deviations of a prior's error
PRIOR_N = 8.0  # about what an error of that size is worth in observations: m (1 - m) / (0.16^2 + 0.07^2)
SPREAD = 0.05  # standard deviation of quality within a specialist
ITERATIONS = 20  # of the search: 40 agents a role are an easy case
SEEDS = 20
PART = 40  # tasks in each part of the reported curve


@dataclass(frozen=True)
class World:
    """A pool with its hidden qualities [R, A], priors [R, A], specialist numbers [R, A], and the luck of each task."""

    quality: FloatArray
    prior: FloatArray
    specialist: np.ndarray
    columns: PoolColumns
    luck: FloatArray

    @classmethod
    def make(cls, seed: int) -> "World":
        random = np.random.Generator(np.random.PCG64([5, seed]))
        specialist = random.integers(SPECIALISTS, size=(ROLES, ABLE))
        of_specialist = random.beta(6, 3, size=(ROLES, SPECIALISTS))
        quality = np.take_along_axis(of_specialist, specialist, 1) + SPREAD * random.normal(size=(ROLES, ABLE))
        quality = np.clip(quality, 0.02, 0.98)
        shared = np.take_along_axis(SHARED_ERROR * random.normal(size=(ROLES, SPECIALISTS)), specialist, 1)
        prior = np.clip(quality + shared + OWN_ERROR * random.normal(size=(ROLES, ABLE)), 0.05, 0.95)
        vectors = unit(random.normal(size=(ROLES * ABLE, STYLES))).astype(np.float32)
        ids = tuple(f"synthetic-{number:03d}" for number in range(ROLES * ABLE))
        return cls(quality, prior, specialist, PoolColumns(ids, vectors), random.random((TASKS, ROLES)))

    def best(self, values: FloatArray, seed: int) -> tuple[int, ...]:
        """The team, as agent numbers in each role, that the search finds for these values [R, A]."""
        fits = np.full((ROLES, ROLES * ABLE), -np.inf)
        for role in range(ROLES):
            fits[role, role * ABLE:(role + 1) * ABLE] = values[role]
        problem = TeamProblem(self.columns, tuple(f"role-{number}" for number in range(ROLES)), chain(ROLES), fits)
        return tuple(row - role * ABLE for role, row in
                     enumerate(search(problem, seed=seed, iterations=ITERATIONS).rows))

    def utility(self, team: tuple[int, ...]) -> float:
        """Expected utility of a team by its hidden qualities."""
        rows = [role * ABLE + member for role, member in enumerate(team)]
        vectors = self.columns.vectors
        assert vectors is not None
        pairs = sum(float(vectors[rows[role]] @ vectors[rows[role + 1]]) for role in range(ROLES - 1))
        return float(np.sum(self.quality[np.arange(ROLES), team])) + 0.15 * pairs


Policy = Callable[[World, FloatArray, FloatArray, int], FloatArray]
"""(world, good [R, A], seen [R, A], tasks left) -> the value of each agent in its role, [R, A]."""


def _known(world: World, good: FloatArray, seen: FloatArray, role: int, *, share: bool) -> Posterior:
    if share:
        return posterior(world.prior[role], np.full(ABLE, PRIOR_N), good[role], seen[role], world.specialist[role])
    prior = world.prior[role]
    return Posterior(prior * PRIOR_N + good[role], (1 - prior) * PRIOR_N + seen[role] - good[role])


POLICIES: dict[str, Policy] = {
    "learning": lambda world, good, seen, left: np.stack(
        [worth(_known(world, good, seen, role, share=True), left) for role in range(ROLES)]),
    "exploits": lambda world, good, seen, left: np.stack(
        [_known(world, good, seen, role, share=True).mean for role in range(ROLES)]),
    "exploits alone": lambda world, good, seen, left: np.stack(
        [_known(world, good, seen, role, share=False).mean for role in range(ROLES)]),
    "never": lambda world, good, seen, left: world.prior,
}


def regrets(policy: Policy, seed: int, tasks: int = TASKS) -> FloatArray:
    """[tasks]: the regret of each task under a policy."""
    world = World.make(seed)
    optimum = world.utility(world.best(world.quality, seed))
    good, seen, found = np.zeros((ROLES, ABLE)), np.zeros((ROLES, ABLE)), np.zeros(tasks)
    for task in range(tasks):
        team = world.best(policy(world, good, seen, tasks - task), seed)
        found[task] = optimum - world.utility(team)
        place = np.arange(ROLES), np.array(team)
        good[place] += world.luck[task] < world.quality[place]
        seen[place] += 1
    return found


def measure(seeds: int = SEEDS) -> dict[str, dict[str, object]]:
    """By policy: mean regret per task in each fifth of the tasks, over all, and its standard error over pools."""
    table: dict[str, dict[str, object]] = {}
    for name, policy in POLICIES.items():
        curves = np.stack([regrets(policy, seed) for seed in range(seeds)])
        parts = [round(float(np.mean(curves[:, start:start + PART])), 3) for start in range(0, TASKS, PART)]
        means = np.mean(curves, axis=1)
        table[name] = {"by_40_tasks": parts, "mean": round(float(np.mean(means)), 3),
                       "standard_error": round(float(np.std(means, ddof=1) / np.sqrt(seeds)), 3),
                       "last_40_of_each_pool": [round(float(np.mean(curve[-PART:])), 3) for curve in curves]}
    return table


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS), indent=1))
