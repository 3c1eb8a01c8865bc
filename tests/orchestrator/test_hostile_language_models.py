"""Whole runs with a language model that is wrong, hostile or not there: no number changes, no run is lost, and the
report says what was refused. The sample plug-in counts the letters of a text whose name and content give orders."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "model_runs.py"
QUICK = ("plain", "honest", "altered", "loop", "down")
LONG = ("plain", "garbage", "line", "obedient", "talkative", "echo", "refuses", "cut", "slow", "stalls", "keyless",
        "unpaid", "paid", "again", "record", "replay", "unseen", "resumed")
REFUSED = {"altered": "changed a number", "loop": "came to no answer", "garbage": "stay as they are",
           "line": "'L42' for nothing", "obedient": "there is no tool 'shell'",
           "talkative": "stay as they are", "echo": "changed a word"}
Told = dict[str, dict[str, Any]]


def perform(folder: Path, environment: dict[str, str], runs: tuple[str, ...]) -> Told:
    done = subprocess.run([sys.executable, str(SCRIPT)], input=json.dumps({"folder": str(folder), "runs": runs}),
                          env=environment, text=True, capture_output=True, timeout=570)
    assert done.returncode == 0, done.stderr[-3000:]
    told: Told = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, sample_plugin: dict[str, str]) -> Told:
    return perform(tmp_path_factory.mktemp("models"), sample_plugin, QUICK)


@pytest.fixture(scope="module")
def told_at_length(tmp_path_factory: pytest.TempPathFactory, sample_plugin: dict[str, str]) -> Told:
    return perform(tmp_path_factory.mktemp("more-models"), sample_plugin, LONG)


def holds(plain: dict[str, Any], run: dict[str, Any]) -> None:
    """The claims of a run are those of the run without a model, it is done, and no key was written."""
    assert run["document"]["status"] == "done", run["document"]
    assert run["report"]["content"]["claims"] == plain["report"]["content"]["claims"]
    assert {c["status"] for c in run["document"]["findings"]} == {"confirmed"}
    assert not run["key_written"] and run["reserved"] == 0


def lead(run: dict[str, Any]) -> list[str]:
    return [s["text"] for section in run["report"]["content"]["sections"] for s in section["lead"]]


def writer(run: dict[str, Any]) -> str:
    return next(m["agent"] for m in run["report"]["content"]["team"]["members"] if m["role"] == "writer")


def refused(plain: dict[str, Any], run: dict[str, Any], why: str) -> None:
    """What the model said was refused, and the report tells."""
    holds(plain, run)
    assert lead(run) == lead(plain) and run["asked"] > 0
    assert any(why in note for note in run["document"]["notes"]), run["document"]["notes"]
    assert why in run["markdown"].replace("\\", "")


def without(plain: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """The writer gave up its model and another, that asks none, took its place."""
    holds(plain, run)
    (change,) = run["document"]["reenlisted"]
    assert (change["role"], change["cause"]) == ("writer", "model") and "wording=model" in change["replaced"]
    assert lead(run) == lead(plain) and "wording=plain" in writer(run)
    assert change["by"] in run["markdown"].replace("\\", "")
    return change


def test_a_model_that_rewords_is_taken_at_its_small_words_only(told: Told) -> None:
    run = told["honest"]
    holds(told["plain"], run)
    (ours,), (theirs,) = lead(told["plain"]), lead(run)
    assert theirs == ours.replace(" has ", " has the ") and "wording=model" in writer(run)
    assert run["document"]["cost"]["tokens"] == 18 and run["document"]["cost"]["usd"] == pytest.approx(25e-6)
    assert any("sentences are in its words" in note for note in run["document"]["notes"])


def test_a_number_that_a_model_alters_is_refused(told: Told) -> None:
    refused(told["plain"], told["altered"], REFUSED["altered"])


def test_a_model_that_calls_tools_for_ever_is_left_to_itself(told: Told) -> None:
    refused(told["plain"], told["loop"], REFUSED["loop"])
    assert told["loop"]["asked"] == 4  # the call itself, and three repetitions


def test_a_model_that_is_down_costs_the_run_nothing_but_a_writer(told: Told) -> None:
    change = without(told["plain"], told["down"])
    assert "gave no answer in 4 tries" in change["reason"] and told["down"]["asked"] == 4


def test_a_run_without_models_has_none_pinned_and_one_with_them_has_no_key(told: Told) -> None:
    assert "models" not in told["plain"]["report"]["content"]["pins"]
    (pinned,) = told["honest"]["report"]["content"]["pins"]["models"]
    assert (pinned["name"], pinned["key_env"]) == ("small", "KEY_OF_TESTS")


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("name", ["garbage", "line", "obedient", "talkative", "echo"])
def test_whatever_a_hostile_model_says_is_refused(told_at_length: Told, name: str) -> None:
    refused(told_at_length["plain"], told_at_length[name], REFUSED[name])


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("name", ["refuses", "cut", "slow", "stalls", "keyless"])
def test_however_the_way_to_a_model_is_broken_the_run_is_done(told_at_length: Told, name: str) -> None:
    without(told_at_length["plain"], told_at_length[name])
    if name == "keyless":
        assert told_at_length[name]["asked"] == 0
        assert "KEY_THAT_IS_NOT_SET" in json.dumps(told_at_length[name]["events"])


@pytest.mark.slow  # whole runs
def test_a_budget_that_covers_no_question_is_kept_and_told(told_at_length: Told) -> None:
    run = told_at_length["unpaid"]
    holds(told_at_length["plain"], run)
    assert run["asked"] == 0 and run["document"]["cost"]["usd"] == 0
    assert any("budget" in note or "share" in note for note in run["document"]["notes"]), run["document"]
    assert told_at_length["paid"]["asked"] == 1


@pytest.mark.slow  # whole runs
def test_what_was_asked_once_is_not_asked_or_paid_again(told_at_length: Told) -> None:
    first, again = told_at_length["paid"], told_at_length["again"]
    holds(told_at_length["plain"], again)
    assert lead(again) == lead(first) != lead(told_at_length["plain"])
    assert again["asked"] == 0 == again["document"]["cost"]["usd"] and not again["document"]["reenlisted"]


@pytest.mark.slow  # whole runs
def test_a_recorded_run_is_repeated_without_its_model(told_at_length: Told) -> None:
    record, replay = told_at_length["record"], told_at_length["replay"]
    assert (record["asked"], replay["asked"]) == (1, 0)
    assert lead(replay) == lead(record) != lead(told_at_length["plain"])
    holds(told_at_length["plain"], replay)
    change = without(told_at_length["plain"], told_at_length["unseen"])
    assert "no answer to this question was recorded" in change["reason"] and told_at_length["unseen"]["asked"] == 0


@pytest.mark.slow  # whole runs
def test_a_run_that_goes_on_asks_the_model_that_it_was_made_with(told_at_length: Told) -> None:
    run = told_at_length["resumed"]
    holds(told_at_length["plain"], run)
    assert [e["kind"] for e in run["events"]].count("run.interrupted") == 1
    assert run["asked"] == 1 and "wording=model" in writer(run) and lead(run) != lead(told_at_length["plain"])
