"""The environment: its tasks carry logs and no truth, its mutants score low, what is by hand does not solve it."""

import json
from collections import defaultdict

import pytest

from enlist.environments.conformance import check_environment
from enlist.environments.contract import Submission
from enlist.environments.incident_logs.baselines import BASELINES
from enlist.environments.incident_logs.catalog import blind_causes, causes
from enlist.environments.incident_logs.environment import SUMMARY, IncidentLogs
from enlist.environments.incident_logs.freeze import fingerprint, frozen, manifest
from enlist.environments.incident_logs.streams import packed, stream, unpacked
from enlist.tools.runtime.errors import EnlistError

SMALL = IncidentLogs(per_cause=1, lines=900)


@pytest.fixture(scope="module")
def task():
    return next(SMALL.tasks("validation", 0))


def test_a_task_carries_its_files_and_nothing_of_its_truth(task) -> None:
    assert set(task.payload) == {"files"}
    files, truth = unpacked(task.payload), SMALL.truth(task)
    assert {name: data.count(b"\n") for name, data in files.items()} == truth.lines
    told = task.model_dump(mode="json") | {"payload": None}
    assert truth.component not in json.dumps(told) and SMALL.about(task)["cause"] not in task.id
    text, attached = SMALL.as_request(task)
    assert attached == files and text == task.text


def test_the_truth_is_worth_all_and_each_mutant_little(task) -> None:
    assert SMALL.score(task, SMALL.knowing().solve(task)).value == pytest.approx(1)
    for name, mutant in SMALL.mutants().items():
        assert SMALL.score(task, mutant.solve(task)).value < 0.1, name


def test_the_ids_of_all_tasks_are_distinct_and_variants_of_a_plot_are_one_group() -> None:
    plots = SMALL._plots("validation", 0)
    causes_of = defaultdict(set)
    for name, plot in plots.items():
        if plot.cause:
            causes_of[name.partition("-")[0]].add((plot.cause, plot.seed))
    assert len(plots) == len(set(plots.values())) and all(len(found) == 1 for found in causes_of.values())
    controls = {plot.control for plot in plots.values()}
    assert controls == {"none", "removed", "shuffled", "no_incident"}
    assert {(p.names is not None, p.wording) for p in plots.values()} == {(False, 0), (True, 0), (False, 1)}


def test_the_whole_benchmark_has_ninety_incidents_where_the_other_hand_has_written_its_causes() -> None:
    seeds = {plot.seed for plot in IncidentLogs()._plots("validation", 0).values() if plot.cause}
    assert len(seeds) == 6 * len(causes()) and (len(seeds) >= 90 or len(blind_causes()) < 5)


def test_the_test_split_moves_with_the_salt_and_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = set(SMALL._plots("test", 0).values())
    assert not plain & set(SMALL._plots("test", 1).values()) and not plain & set(SMALL._plots("validation", 0).values())
    monkeypatch.setenv("ENLIST_EVAL_SALT", "grain")
    assert not plain & set(SMALL._plots("test", 0).values())


def test_an_agents_answer_is_the_value_of_its_finding(task) -> None:
    finding = {"predicate": SUMMARY, "value": json.dumps({"incident": False})}
    assert SMALL.read_findings(task, [{"predicate": "x", "value": 1}, finding]) == {"incident": False}
    assert SMALL.read_findings(task, [finding | {"value": "{"}]) is None


def test_packing_loses_nothing_and_is_the_same_each_time() -> None:
    files = {"a.log": "é\n" * 50, "b.log": ""}
    assert {n: d.decode() for n, d in unpacked({"files": packed(files)}).items()} == files
    assert packed(files) == packed(files)


def test_a_stream_too_long_for_a_task_is_refused() -> None:
    plot = next(iter(IncidentLogs(lines=10**6)._plots("validation", 0).values()))
    with pytest.raises(EnlistError) as fault:
        stream(plot)
    assert fault.value.code == "resource_limit"


def test_answers_for_other_tasks_and_garbage_are_invalid_and_no_answer_abstains(task) -> None:
    assert SMALL.score(task, Submission(task="other", answer={"incident": True})).verdict == "invalid"
    assert SMALL.score(task, Submission(task=task.id, answer={"incident": 3})).verdict == "invalid"
    assert SMALL.score(task, Submission(task=task.id, answer=None)).verdict == "abstained"
    assert SMALL.score(task.model_copy(update={"id": "x"}), Submission(task="x", answer={})).verdict == "error"


def test_frozen_streams_are_as_they_were() -> None:
    """A difference is a new version of the benchmark: see freeze.py."""
    held = manifest()
    assert set(causes()) - blind_causes() <= set(held)
    for plot in [plot for plot in frozen() if (plot.cause or "healthy") in held][::5]:
        assert fingerprint(plot) == held[plot.cause or "healthy"], plot


@pytest.mark.slow
def test_all_frozen_streams_are_as_they_were() -> None:
    held = manifest()
    assert held == {name: fingerprint(plot) for plot in frozen() if (name := plot.cause or "healthy") in held}


@pytest.mark.slow
def test_the_environment_holds_what_environments_must() -> None:
    check_environment(IncidentLogs(per_cause=1, lines=2000, variants=False), most=12)


@pytest.mark.slow  # every cause twice, read by seven baselines
def test_nothing_that_is_done_by_hand_finds_the_root_cause_in_four_of_ten_streams() -> None:
    bench = IncidentLogs(per_cause=2, lines=2500, variants=False, controls=False)
    tasks = list(bench.tasks("validation", 0))
    for name, solver in BASELINES.items():
        found = [bench.score(one, solver.solve(one)).parts.get("root_cause", 0.0) for one in tasks]
        assert sum(found) / len(found) < 0.4, name
