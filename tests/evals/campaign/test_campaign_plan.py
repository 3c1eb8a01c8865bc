"""The samples of a campaign, its rows and its id."""

import pytest

from enlist.environments.conformance import check_environment
from enlist.environments.contract import Absent, configured, group_of, references
from enlist.evals.campaign.file import parse
from enlist.evals.campaign.plan import make_plan
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError

TEXT = """name: words
environments:
  - {name: sample-words, label: few, seeds: 2, options: {count: 3}}
  - {name: sample-words, label: many, seeds: 1, options: {count: 30}}
solvers: [first-line, classical]
"""
pytestmark = pytest.mark.usefixtures("words")


def plan(text=TEXT, **options):
    return make_plan(parse(text), **options)


def tasks(made, label):
    return sorted({(s.task.seed, s.task.id) for s in made.samples if s.environment == label})


def test_the_plug_ins_environment_meets_the_contract():
    check_environment(registry.load_entry("enlist.environments", "sample-words"))


def test_every_solver_meets_every_task_and_the_reference_rows_are_added():
    made = plan()
    assert len(made.samples) == (2 * 3 + 30) * 3 == len({s.key for s in made.samples})
    few = made.rows[0]
    assert list(few.solvers) == ["first-line", "classical", "random"]
    assert few.kinds == {"random": ("random",), "classical": ("oracle",)}
    assert few.absent == {"single-agent": "the environment sample-words names no such baseline",
                          "greedy": "there is nothing to be greedy about"}


def test_the_id_follows_what_is_measured_and_nothing_else(monkeypatch):
    same = plan().id
    assert plan(TEXT + "budget: {seconds: 9}\nretries: 0\n").id == same
    changed = [plan(TEXT.replace("count: 3}", "count: 4}")).id, plan(TEXT.replace("seeds: 2", "seeds: 3")).id,
               plan(limit=1).id, plan(sample=5).id, plan(TEXT + "limits: {seconds: 9}\n").id]
    environment = registry.load_entry("enlist.environments", "sample-words")
    monkeypatch.setattr(type(environment), "version", "2")
    object.__setattr__(environment, "version", "2")
    try:
        changed.append(plan().id)
    finally:
        object.__setattr__(environment, "version", "1")
    assert len({same, *changed}) == 7


def test_the_salt_of_the_test_split_is_part_of_the_id(monkeypatch):
    text = TEXT.replace("seeds: 1", "seeds: 1, split: test")
    before = plan(text).id
    monkeypatch.setenv("ENLIST_EVAL_SALT", "grain")
    assert plan(text).id != before and plan().id == plan().id


def test_a_limit_takes_the_first_tasks_of_each_seed():
    made = plan(limit=1)
    assert tasks(made, "few") == [(0, "text-0"), (1, "text-0")] and tasks(made, "many") == [(0, "text-0")]


@pytest.mark.parametrize(("count", "few", "many"), [(12, 2, 10), (6, 1, 5), (2, 1, 1), (1, 0, 1), (36, 6, 30),
                                                    (99, 6, 30)])
def test_a_sample_takes_the_same_share_of_every_environment(count, few, many):
    made = plan(sample=count)
    assert (len(tasks(made, "few")), len(tasks(made, "many"))) == (few, many)
    assert [s.key for s in plan(sample=count).samples] == [s.key for s in made.samples]


def test_a_solver_that_no_environment_has_is_refused_with_the_nearest():
    with pytest.raises(EnlistError) as fault:
        plan(TEXT.replace("first-line", "frist-line"))
    assert fault.value.code == "not_found" and "first-line" in (fault.value.allowed or "")


def test_an_unknown_environment_or_option_is_refused():
    with pytest.raises(EnlistError):
        plan(TEXT.replace("name: sample-words, label: few", "name: sampel-words, label: few"))
    with pytest.raises(EnlistError) as fault:
        plan(TEXT.replace("count: 3}", "cuont: 3}"))
    assert fault.value.allowed == "count"


def test_the_same_task_in_two_seeds_is_one_task_to_the_statistics():
    environment = registry.load_entry("enlist.environments", "sample-words")
    task = next(environment.tasks("validation", 0))
    again = task.model_copy(update={"seed": 5})
    other = task.model_copy(update={"payload": {"text": "something else"}})
    assert group_of(environment, task) == group_of(environment, again) != group_of(environment, other)


def test_an_environment_that_says_nothing_of_references_has_those_of_that_name():
    class Silent:
        name = "silent"

        def baselines(self):
            return {"trivial": None, "greedy": None}

    found = references(Silent())
    assert found["greedy"] == "greedy"
    assert isinstance(found["random"], Absent) and "silent" in found["random"].reason
    with pytest.raises(EnlistError, match="no such option"):
        configured(Silent(), {"size": 3})
