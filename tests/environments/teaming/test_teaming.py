"""The teaming benchmark: scores come from the optimum and the random median, and nothing else counts."""

import jsonschema
import numpy as np
import pytest

from enlist.environments.conformance import check_environment, check_solver
from enlist.environments.contract import Submission, references
from enlist.environments.teaming.environment import TEAMING, Teaming
from enlist.environments.teaming.mutants import MUTANTS
from enlist.environments.teaming.problem import problem_of
from enlist.environments.teaming.solvers import SOLVERS
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.exact import exact

SMALL = Teaming(agents=100, per_case=1)


@pytest.fixture(scope="module")
def tasks():
    return list(SMALL.tasks("validation", 0))


def submit(task, team):
    return Submission(task=task.id, answer={"team": team})


def best_team(task):
    problem = problem_of(task)
    return dict(zip(problem.roles, exact(problem).ids, strict=True))


def test_teaming_meets_the_contract_of_environments():
    check_environment(SMALL)


@pytest.mark.slow  # a dozen solvers on five pools of 300 cards
def test_teaming_at_full_size_meets_the_contract_of_environments():
    check_environment(TEAMING)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_solvers_meet_the_contract_of_solvers(name):
    check_solver(SOLVERS[name], SMALL, most=2)


def test_every_case_is_there_with_three_hundred_synthetic_cards():
    tasks = list(TEAMING.tasks("validation", 0))
    assert len(tasks) == 20
    for model in ("skill-vectors", "realistic-cards"):
        for shape in ("chain", "complete"):
            assert sum(task.id.startswith(f"{model}/{shape}/") for task in tasks) == 5
    assert all(len(task.payload["cards"]) == 300 for task in tasks)
    assert all(card["id"].startswith("synthetic-") for task in tasks for card in task.payload["cards"])


def test_the_optimum_scores_one_and_the_search_reaches_it(tasks):
    for task in tasks:
        score = SMALL.score(task, submit(task, best_team(task)))
        assert (score.value, score.verdict, score.parts["ratio"]) == (1.0, "ok", 1.0)
        assert SMALL.score(task, SOLVERS["smart"].solve(task)).value == 1.0


def test_the_value_is_the_share_of_the_way_from_the_random_median_to_the_optimum(tasks):
    """The median is estimated anew here, with other draws: the score of a greedy team must agree to a few percent."""
    problem = problem_of(tasks[0])
    random, fits = np.random.default_rng(1), np.asarray(problem.unary)
    drawn = []
    while len(drawn) < 2000:
        team = tuple(int(random.choice(np.flatnonzero(fits[role] > -np.inf))) for role in range(5))
        if problem.utility(team) > -np.inf:
            drawn.append(problem.utility(team))
    submission = SOLVERS["greedy"].solve(tasks[0])
    row_of = {card: row for row, card in enumerate(problem.pool.ids)}
    utility = problem.utility([row_of[submission.answer["team"][role]] for role in problem.roles])
    expected = (utility - np.median(drawn)) / (exact(problem).utility - np.median(drawn))
    assert SMALL.score(tasks[0], submission).value == pytest.approx(expected, abs=0.03)


def test_honest_answers_follow_the_schema_and_spoiled_ones_do_not(tasks):
    schema = tasks[0].submission_schema
    jsonschema.validate(SOLVERS["classical"].solve(tasks[0]).answer, schema)
    for name in ("missing-role", "claims-a-score"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(MUTANTS[name].solve(tasks[0]).answer, schema)


@pytest.mark.parametrize(("mutant", "reason"), [
    ("same-agent-twice", "two roles"), ("same-route", "share a route"), ("unknown-card", "no card"),
    ("missing-role", "roles"), ("other-task", "another task"), ("claims-a-score", "not a team")])
def test_broken_teams_are_invalid_for_the_right_reason(tasks, mutant, reason):
    score = SMALL.score(tasks[0], MUTANTS[mutant].solve(tasks[0]))
    assert (score.value, score.verdict, score.parts) == (0.0, "invalid", {"valid": 0.0})
    assert reason in score.reason


def test_the_worst_team_is_wrong(tasks):
    score = SMALL.score(tasks[0], MUTANTS["worst"].solve(tasks[0]))
    assert (score.value, score.verdict) == (0.0, "wrong") and score.parts["regret"] > 1


def test_altering_the_task_does_not_alter_the_score(tasks):
    """A solver that makes all cards equal in its copy of the task gains nothing."""
    submission = SOLVERS["trivial"].solve(tasks[2])
    flat = [{**card, "fits": [1.0] * 5, "vector": [0.0] * 8} for card in tasks[2].payload["cards"]]
    altered = tasks[2].model_copy(update={"payload": {**tasks[2].payload, "cards": flat}})
    assert SMALL.score(altered, submission) == SMALL.score(tasks[2], submission)


def test_the_salt_changes_the_test_split_and_only_it(monkeypatch):
    def first(split):
        return next(SMALL.tasks(split, 0)).payload

    monkeypatch.delenv("ENLIST_EVAL_SALT", raising=False)
    validation, unsalted = first("validation"), first("test")
    monkeypatch.setenv("ENLIST_EVAL_SALT", "grain")
    assert first("validation") == validation
    assert first("test") != unsalted
    assert first("test") == first("test")


def test_a_task_of_another_environment_is_our_error_not_the_solvers(tasks):
    score = SMALL.score(tasks[0].model_copy(update={"id": "else/where/0"}), submit(tasks[0], {}))
    assert score.verdict == "error" and "not a task" in score.reason


def test_a_payload_that_is_no_problem_is_refused(tasks):
    with pytest.raises(EnlistError) as fault:
        problem_of(tasks[0].model_copy(update={"payload": {"cards": []}}))
    assert fault.value.code == "bad_input"


def test_the_oracle_is_exact_and_the_reference_rows_are_told():
    rows = references(TEAMING)
    assert (rows["random"], rows["greedy"], rows["oracle"]) == ("trivial", "greedy", "oracle")
    assert "different card" in rows["single-agent"].reason
    small = Teaming(agents=40, per_case=1)
    oracle = small.baselines()["oracle"]
    assert {small.score(task, oracle.solve(task)).value for task in small.tasks("validation", 0)} == {1.0}
