"""A third party's package, installed apart, adds a tool, two specialists, a capability and a command."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

TEXT = "one two\nthree  four\tfive\n"


@pytest.fixture
def plugged(sample_plugin: dict[str, str], tmp_path: Path) -> Any:
    """The program with the plug-in, in a folder with `notes.txt`."""
    (tmp_path / "notes.txt").write_text(TEXT)

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["enlist", *arguments], capture_output=True, text=True, cwd=tmp_path,
                              env={**sample_plugin, "ENLIST_HOME": str(tmp_path / "home"), "COLUMNS": "80", **more})

    return call


def test_its_command_is_listed_without_being_imported_and_runs(plugged: Any) -> None:
    listed = plugged("--help", PYTHONVERBOSE="1")
    assert "sample-words" in listed.stdout and "Count the words of a text (from enlist-sample)" in listed.stdout
    assert "enlist_sample" not in listed.stderr.replace("enlist_sample-1.0.dist-info", "")
    ran = plugged("sample-words", "notes.txt")
    assert (ran.returncode, ran.stdout) == (0, "5\n")


def test_its_tool_runs_in_a_process_of_its_own_and_leaves_its_mark(plugged: Any, side_effects: Path) -> None:
    ran = plugged("tool", "sample-counted", "--json", "--input",
                  json.dumps({"text": "notes.txt", "record": str(side_effects)}))
    assert json.loads(ran.stdout) == {"words": 5}, ran.stderr
    assert side_effects.read_text() == "started\nfinished\n"


def test_its_specialists_are_chosen_for_its_capability(plugged: Any) -> None:
    found = json.loads(plugged("team", "count the words in this text", "--attach", "notes.txt", "--json").stdout)
    assert [role["id"] for role in found["plan"]["roles"]] == ["word_count.analyst", "word_count.verifier", "writer"]
    assert {"id", "capability", "reads", "writes"} <= set(found["plan"]["roles"][0])
    assert {"from": "word_count.analyst", "to": "writer", "artifact": "word-counts"} in found["plan"]["edges"]
    assert [m["agent"].split("/")[0] for m in found["team"]] == ["sample-analyst", "sample-verifier", "writer"]
    assert {"role", "agent", "runner_up", "margin", "terms", "found_by"} == set(found["team"][0])
    assert found["utility"] <= found["upper_bound"]["value"] + 1e-9
    assert {"iterations", "shortlist", "exhausted", "stopped_by"} == set(found["search"])


def test_cards_of_a_file_can_be_enlisted_from(plugged: Any, tmp_path: Path) -> None:
    ids = ["sample-analyst/rounds=2/time_limit=30", "sample-verifier/rounds=1/time_limit=60",
           "writer/rows=10/figures=True/order=plan/refuted=mark/wording=plain"]
    (tmp_path / "pool.json").write_text(json.dumps(
        [json.loads(plugged("agents", "show", id, "--json").stdout) for id in ids]))
    found = json.loads(plugged("team", "count the words in this text", "--attach", "notes.txt", "--pool", "pool.json",
                               "--json").stdout)
    assert [member["agent"] for member in found["team"]] == ids


def test_a_run_enlists_its_specialists_and_confirms_their_count(plugged: Any, side_effects: Path) -> None:
    ran = plugged("run", "count the words in this text", "--attach", "notes.txt", "--json",
                  SAMPLE_SIDE_EFFECTS=str(side_effects))
    document = json.loads(ran.stdout)
    assert ran.returncode == 0 and document["status"] == "done", ran.stderr
    assert [m["agent"].split("/")[0] for m in document["team"]] == ["sample-analyst", "sample-verifier", "writer"]
    (claim,) = document["findings"]
    assert claim["finding"]["value"] == len(TEXT.split()) and claim["status"] == "confirmed"
    assert side_effects.read_text() == "started\nfinished\n"
    assert document["sandbox"] == {"sample-counted": "basic"}
    shown = plugged("show", document["run"])
    assert shown.stdout.startswith("notes.txt has 5 words.")
    found = json.loads(plugged("memory", "search", "notes words", "--kind", "finding", "--json").stdout)
    assert [record["run"] for record in found["records"]] == [document["run"]]
