"""Solvers of teaming tasks: baselines, the exact oracle, the search. Seeds come from the task id, so runs repeat."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from enlist.environments.contract import Solver, Submission, Task
from enlist.environments.teaming.problem import answer_of, problem_of
from enlist.tools.runtime.ids import content_hash
from enlist.tools.smart import TeamProblem, search
from enlist.tools.smart.baselines import greedy, random_teams, restarted_one_opt
from enlist.tools.smart.exact import exact

Assemble = Callable[[TeamProblem, int], tuple[int, ...]]


@dataclass(frozen=True)
class TeamSolver:
    """A solver around a function of a problem and a seed that returns a team as pool rows."""

    name: str
    assemble: Assemble

    def solve(self, task: Task) -> Submission:
        """Assemble a team; the cost counts the search without reading the task."""
        problem = problem_of(task)
        started = time.perf_counter()
        team = self.assemble(problem, int(content_hash([task.split, task.seed, task.id])[:8], 16))
        return answer_of(task, problem, team, time.perf_counter() - started)


SOLVERS: dict[str, Solver] = {
    "trivial": TeamSolver("trivial", lambda problem, seed: random_teams(problem, 1, seed)[0]),
    "greedy": TeamSolver("greedy", lambda problem, seed: greedy(problem)),
    "classical": TeamSolver("classical", restarted_one_opt),
    "oracle": TeamSolver("oracle", lambda problem, seed: exact(problem).rows),
    "smart": TeamSolver("smart", lambda problem, seed: search(problem, seed=seed).rows),
}
