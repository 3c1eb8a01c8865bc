"""Problems of SLS-Bench, whose fields are not known: what is found in several likely forms, and what is said else."""

import json
from pathlib import Path
from typing import Any

import pytest

from enlist.environments.incident_logs.importing import Problem, problems
from enlist.tools.runtime.errors import EnlistError

LOGS = "\n".join(f"2024-01-02 03:04:0{i} INFO line {i}" for i in range(8))


def one(tmp_path: Path, data: Any) -> Problem:
    path = tmp_path / "problems.jsonl"
    path.write_text((data if isinstance(data, str) else json.dumps(data)) + "\n\n")
    (found,) = problems(path)
    return found


@pytest.mark.parametrize("data, taken, files", [
    ({"id": "p1", "logs": LOGS, "summary": "It broke."}, {"id": "id", "logs": "logs", "reference": "summary"},
     ["logs.log"]),
    ({"problem_id": 7, "input": {"logs": {"api": LOGS, "db.log": LOGS}}, "expected": {"summary": "It broke."}},
     {"id": "problem_id", "logs": "input.logs", "reference": "expected.summary"}, ["api.log", "db.log"]),
    ({"prompt": LOGS, "reference_summary": "It broke.", "difficulty": 3},
     {"id": "", "logs": "prompt", "reference": "reference_summary"}, ["prompt.log"]),
    ({"id": "x", "stream": LOGS.split("\n"), "gold_summary": "It broke."},
     {"id": "id", "logs": "stream", "reference": "gold_summary"}, ["stream.log"])])
def test_logs_and_reference_are_found_in_likely_forms(tmp_path, data, taken, files) -> None:
    found = one(tmp_path, data)
    assert found.found == taken and sorted(found.files) == files and found.reference == "It broke."
    assert all(text.startswith(LOGS[:40]) for text in found.files.values())


def test_a_long_reference_is_not_taken_for_the_logs(tmp_path) -> None:
    found = one(tmp_path, {"summary": LOGS.replace("line", "said"), "stream": LOGS})
    assert found.found["logs"] == "stream" and "said" in found.reference


def test_what_is_not_taken_is_named(tmp_path) -> None:
    assert one(tmp_path, {"logs": LOGS, "model": "m", "tags": ["a"]}).other == ("model", "tags")


@pytest.mark.parametrize("data, said", [("[1]", "no JSON object"), ("{", "no JSON"), ("{}", "an empty object"),
                                        ({"a": 1, "b": "short"}, "a (int)")])
def test_a_line_that_is_no_problem_says_what_it_holds(tmp_path, data, said) -> None:
    with pytest.raises(EnlistError) as fault:
        one(tmp_path, data)
    assert fault.value.code == "bad_input" and said in fault.value.sentence()


def test_a_file_that_is_not_there_is_told(tmp_path) -> None:
    with pytest.raises(EnlistError, match=r"problems\.jsonl"):
        next(problems(tmp_path / "problems.jsonl"))
