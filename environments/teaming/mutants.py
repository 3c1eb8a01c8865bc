"""Solvers with one fault each, which the environment must see: none may come near an honest baseline."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from enlist.environments.contract import Solver, Submission, Task
from enlist.environments.teaming.problem import answer_of, problem_of
from enlist.environments.teaming.solvers import TeamSolver
from enlist.tools.smart import TeamProblem, search
from enlist.tools.smart.baselines import greedy, restarted_one_opt

WRONG_WEIGHT = -2.0  # strong enough to outvote the fits


def _same_agent_twice(problem: TeamProblem, seed: int) -> tuple[int, ...]:
    team = search(problem, seed=seed).rows
    return (team[0], team[0], *team[2:])


def _same_route(problem: TeamProblem, seed: int) -> tuple[int, ...]:
    """The best team in which the verifier does share the analyst's route."""
    routes = problem.pool.routes
    assert routes is not None
    best: tuple[int, ...] = ()
    most = -np.inf
    free = replace(problem, differ=())
    first, second = problem.differ[0]
    for route in np.unique(routes):
        fits = np.array(problem.unary)
        for role in (first, second):
            fits[role, routes != route] = -np.inf
        if all(np.sum(fits[role] > -np.inf) > 1 for role in (first, second)):
            team = greedy(replace(free, unary=fits), order=(first, second, *(role for role in range(len(problem.roles))
                                                                             if role not in (first, second))))
            if free.utility(team) > most:
                best, most = team, free.utility(team)
    return best


def _worst(problem: TeamProblem, seed: int) -> tuple[int, ...]:
    fits = np.array(problem.unary)
    turned = replace(problem, unary=np.where(fits > -np.inf, -fits, -np.inf), beta=-problem.beta)
    return restarted_one_opt(turned, seed, restarts=2)


def _other_roles_agent(problem: TeamProblem, seed: int) -> tuple[int, ...]:
    """The best team, every card one role too far: an off-by-one in the role number."""
    team = search(problem, seed=seed).rows
    return (*team[1:], team[0])


def _neighbouring_row(problem: TeamProblem, seed: int) -> tuple[int, ...]:
    """The best team, every card one row too far: an off-by-one in the pool's rows."""
    return tuple((row + 1) % len(problem.pool) for row in search(problem, seed=seed).rows)


def _wrong_edge_weight(problem: TeamProblem, seed: int) -> tuple[int, ...]:
    return greedy(replace(problem, beta=WRONG_WEIGHT))


@dataclass(frozen=True)
class _Rewrites:
    """Solves honestly, then spoils the submission."""

    name: str
    spoil: Callable[[Submission], Submission]

    def solve(self, task: Task) -> Submission:
        problem = problem_of(task)
        return self.spoil(answer_of(task, problem, greedy(problem), 0.0))


def _first_renamed(submission: Submission) -> Submission:
    team = dict((submission.answer or {})["team"])
    team[next(iter(team))] = "synthetic-nobody"
    return submission.model_copy(update={"answer": {"team": team}})


def _one_role_missing(submission: Submission) -> Submission:
    team = dict((submission.answer or {})["team"])
    team.popitem()
    return submission.model_copy(update={"answer": {"team": team}})


MUTANTS: dict[str, Solver] = {solver.name: solver for solver in (
    TeamSolver("same-agent-twice", _same_agent_twice), TeamSolver("same-route", _same_route),
    TeamSolver("worst", _worst), TeamSolver("other-roles-agent", _other_roles_agent),
    TeamSolver("neighbouring-row", _neighbouring_row),
    TeamSolver("wrong-edge-weight", _wrong_edge_weight),
    _Rewrites("unknown-card", _first_renamed), _Rewrites("missing-role", _one_role_missing),
    _Rewrites("other-task", lambda submission: submission.model_copy(update={"task": "another"})),
    _Rewrites("claims-a-score", lambda submission: submission.model_copy(update={"answer": {"score": 1.0}})),
)}
