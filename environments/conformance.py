"""What every environment and solver must hold: each `check_*` raises AssertionError at the first lack."""

import json
import math
from itertools import islice
from typing import Any

from enlist.environments.contract import Absent, Environment, Score, Solver, Submission, Task, references

GARBAGE: tuple[Any, ...] = ({}, {"answer": None}, {"": []}, {"x": "\x00" * 10}, {"team": [1, 2]}, {"deep": [[[[]]]]})


def check_environment(environment: Environment, *, seed: int = 0, most: int = 5) -> None:
    """Tasks, scores, baselines and mutants on the first `most` tasks of a seed."""
    tasks = list(islice(environment.tasks("validation", seed), most))
    assert tasks, f"{environment.name}: no tasks"
    _check_tasks(environment, tasks, seed, most)
    for task in tasks:
        _check_scoring(environment, task)
    means = {name: _mean(environment, solver, tasks) for name, solver in environment.baselines().items()}
    assert {"trivial", "classical"} <= set(means), f"{environment.name}: baselines are {sorted(means)}"
    assert means["trivial"] < means["classical"], f"{environment.name}: the trivial baseline is as good: {means}"
    _check_references(environment, means)
    for name, mutant in environment.mutants().items():
        score = _mean(environment, mutant, tasks)
        assert score < means["classical"] / 2, f"{environment.name}: mutant {name} scores {score:.3f}, too high"


def check_solver(solver: Solver, environment: Environment, *, seed: int = 0, most: int = 3) -> None:
    """A solver answers with a submission for the task it was given, the same for the same task."""
    for task in islice(environment.tasks("validation", seed), most):
        first, second = solver.solve(task), solver.solve(task)
        assert first.task == task.id, f"{solver.name}: answered {first.task!r} for {task.id!r}"
        assert first.answer == second.answer, f"{solver.name}: answers the same task differently"
        json.dumps(first.answer, allow_nan=False)


def _check_tasks(environment: Environment, tasks: list[Task], seed: int, most: int) -> None:
    again = list(islice(environment.tasks("validation", seed), most))
    other = list(islice(environment.tasks("validation", seed + 1), most))
    assert tasks == again, f"{environment.name}: the same seed gives other tasks"
    assert tasks != other, f"{environment.name}: the seed changes nothing"
    assert len({t.id for t in tasks}) == len(tasks), f"{environment.name}: two tasks share an id"
    for task in tasks:
        assert Task.model_validate_json(task.model_dump_json()) == task, f"{environment.name}: a task is not JSON"
        assert (task.environment, task.version) == (environment.name, environment.version)


def _check_references(environment: Environment, means: dict[str, float]) -> None:
    rows = {kind: row for kind, row in references(environment).items() if not isinstance(row, Absent)}
    for kind, baseline in rows.items():
        assert baseline in means, f"{environment.name}: the {kind} row is no baseline: {baseline!r}"
    if "oracle" in rows:
        best = max(means, key=lambda name: means[name])
        assert means[rows["oracle"]] >= means[best] - 1e-9, f"{environment.name}: {best} beats the oracle: {means}"


def _check_scoring(environment: Environment, task: Task) -> None:
    assert _score(environment, task, None).verdict == "abstained", f"{environment.name}: no answer is an abstention"
    for answer in GARBAGE:
        score = _score(environment, task, answer)
        assert score.verdict not in ("ok", "error") and score.value == 0, (
            f"{environment.name}: garbage {answer!r} is scored {score.value} ({score.verdict})")


def _score(environment: Environment, task: Task, answer: dict[str, Any] | None) -> Score:
    score = environment.score(task, Submission(task=task.id, answer=answer))
    assert 0 <= score.value <= 1 and all(math.isfinite(v) for v in score.parts.values())
    return score


def _mean(environment: Environment, solver: Solver, tasks: list[Task]) -> float:
    return sum(environment.score(task, solver.solve(task)).value for task in tasks) / len(tasks)
