"""The benchmark itself: seeded tasks, and scores against the exact optimum.

A task is made again from its split, seed and id when it is scored, so nothing a solver did to its copy counts. The test
split mixes the salt of ENLIST_EVAL_SALT into every pool; without a salt the test split is as public as the code.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from enlist.environments.contract import Absent, Reference, Score, Solver, Split, Submission, Task
from enlist.environments.teaming.mutants import MUTANTS
from enlist.environments.teaming.problem import answer_schema, payload_of
from enlist.environments.teaming.solvers import SOLVERS
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.ids import content_hash
from enlist.tools.smart import TeamProblem
from enlist.tools.smart.baselines import random_teams
from enlist.tools.smart.exact import exact
from enlist.tools.smart.pools import MODELS, synthetic_problem
from enlist.tools.smart.topology import TOPOLOGIES

NAME, VERSION = "teaming", "1"
ROLES = 5
DIFFER = ((0, 4),)  # the last role verifies the first: it may not take its route
MEDIAN_OF = 301  # random teams; an odd number, so that the median is one of them


@dataclass(frozen=True)
class Truth:
    """What a score needs: the problem, the optimum and the utility of the median random team."""

    problem: TeamProblem
    optimum: float
    median: float


@lru_cache(maxsize=64)
def _truth(model: str, shape: str, agents: int, pool_seed: int) -> Truth:
    problem = synthetic_problem(model, shape, agents=agents, roles=ROLES, seed=pool_seed, differ=DIFFER)
    drawn = [problem.utility(team) for team in random_teams(problem, MEDIAN_OF, pool_seed)]
    return Truth(problem, exact(problem).utility, float(np.median(drawn)))


@dataclass(frozen=True)
class Teaming:
    """The environment `teaming`: `per_case` tasks for each pool model and topology, over `agents` cards."""

    agents: int = 300
    per_case: int = 5
    name: str = NAME
    version: str = VERSION

    def tasks(self, split: Split, seed: int) -> Iterator[Task]:
        """Two models x two topologies x `per_case` tasks, the same for the same split, seed and salt."""
        for number in range(self.per_case):
            for model in MODELS:
                for shape in TOPOLOGIES:
                    task_id = f"{model}/{shape}/{number}"
                    problem = synthetic_problem(model, shape, agents=self.agents, roles=ROLES, differ=DIFFER,
                                                seed=_pool_seed(split, seed, task_id))
                    yield Task(environment=self.name, version=self.version, split=split, seed=seed, id=task_id,
                               text="Fill every role with one card so that the utility of the team is greatest.",
                               payload=payload_of(problem), submission_schema=answer_schema(problem.roles))

    def score(self, task: Task, submission: Submission) -> Score:
        """(utility - median random) / (optimum - median random) within [0, 1].

        Parts: `valid` 0 or 1; `ratio` utility / optimum, `regret` 1 - value before clipping, for valid teams.
        A team no better than the median random one is `wrong`; unknown cards, roles and broken constraints `invalid`.
        """
        try:
            with boundary("teaming score"):
                return self._judge(task, submission)
        except EnlistError as fault:
            return Score(task=task.id, value=0.0, verdict="error", reason=fault.sentence())

    def baselines(self) -> dict[str, Solver]:
        """`trivial` (random), `greedy`, `classical` (restarted 1-opt), `oracle` (exact), `smart` (the tree search)."""
        return dict(SOLVERS)

    def references(self) -> dict[Reference, str | Absent]:
        """Random, greedy and exact teams; one card is no team."""
        return {"random": "trivial", "greedy": "greedy", "oracle": "oracle", "single-agent": Absent(
            reason="a team has a different card in each of five roles: a single agent cannot answer")}

    def spoken(self) -> dict[str, tuple[str, ...]]:
        """What people call the solvers."""
        return {NAME: ("team assembly", "teaming"), "smart": ("team search", "smart", "tree search", "mcts"),
                "classical": ("1-opt", "one-opt", "local search", "hill climbing"), "trivial": ("random team",),
                "oracle": ("exact search", "the optimum")}

    def mutants(self) -> dict[str, Solver]:
        return dict(MUTANTS)

    def _judge(self, task: Task, submission: Submission) -> Score:
        if submission.answer is None:
            return Score(task=task.id, value=0.0, verdict="abstained", reason="no answer")
        model, shape, _ = _case(task, self.per_case)
        truth = _truth(model, shape, self.agents, _pool_seed(task.split, task.seed, task.id))
        try:
            team = read_team(truth.problem, task, submission)
        except EnlistError as fault:
            return Score(task=task.id, value=0.0, verdict="invalid", parts={"valid": 0.0}, reason=fault.sentence())
        utility = truth.problem.utility(team)
        value = (utility - truth.median) / (truth.optimum - truth.median)
        parts = {"valid": 1.0, "ratio": utility / truth.optimum, "regret": 1 - value}
        if value <= 0:
            return Score(task=task.id, value=0.0, verdict="wrong", parts=parts,
                         reason="no better than the median random team")
        return Score(task=task.id, value=min(value, 1.0), verdict="ok", parts=parts)


def read_team(problem: TeamProblem, task: Task, submission: Submission) -> tuple[int, ...]:
    """The rows of a submitted team; `invalid_output` for anything but one known, eligible card for every role, no card
    twice and no shared route where routes must differ."""

    def wrong(message: str, given: object) -> EnlistError:
        return EnlistError("invalid_output", message, given=repr(given)[:200],
                           allowed='{"team": {role: card id}} with every role once',
                           fix="answer by the task's submission_schema and the payload's constraints")

    answer = submission.answer
    if submission.task != task.id:
        raise wrong("the submission is for another task", submission.task)
    if answer is None or set(answer) != {"team"} or not isinstance(answer["team"], dict):
        raise wrong("the answer is not a team", answer)
    team = answer["team"]
    if set(team) != set(problem.roles):
        raise wrong("the team's roles are not the task's", list(team))
    row_of = {card: row for row, card in enumerate(problem.pool.ids)}
    for card in team.values():
        if not isinstance(card, str) or card not in row_of:
            raise wrong("no card of the pool has this id", card)
    rows = tuple(row_of[team[role]] for role in problem.roles)
    if len(set(rows)) != len(rows):
        raise wrong("one card fills two roles", team)
    if problem.utility(rows) == -np.inf:
        raise wrong("a card is ineligible for its role, or two share a route that must differ", team)
    return rows


def _pool_seed(split: Split, seed: int, task_id: str) -> int:
    salt = os.environ.get("ENLIST_EVAL_SALT", "") if split == "test" else ""
    return int(content_hash([NAME, VERSION, split, seed, task_id, salt])[:12], 16)


def _case(task: Task, per_case: int) -> tuple[str, str, int]:
    parts = task.id.split("/")
    if task.environment != NAME or task.version != VERSION or len(parts) != 3 or parts[0] not in MODELS \
            or parts[1] not in TOPOLOGIES or not parts[2].isdecimal() or int(parts[2]) >= per_case:
        raise EnlistError("bad_input", "not a task of this environment", given=f"{task.environment} {task.id}",
                          allowed=f"{NAME} {VERSION}", fix="score tasks with the environment that made them")
    return parts[0], parts[1], int(parts[2])


TEAMING = Teaming()
