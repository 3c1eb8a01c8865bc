"""`enlist logs summarize`: a mapping, a sample in the time given, an answer that was kept."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "x.log"
    path.write_text("".join(f"{1_772_600_000 + i}|api|{'E|disk full' if i > 900 else 'I|served'} {i}\n"
                            for i in range(1200)))
    (tmp_path / "map.yaml").write_text(r"pattern: '(?P<time>\d+)\|(?P<service>\w+)\|(?P<level>\w)\|(?P<message>.*)'")
    return path


def test_a_mapping_names_the_parts_and_the_second_answer_is_the_first(log: Path, enlist: Any) -> None:
    asked = ("logs", "summarize", str(log), "--mapping", "map.yaml", "--json")
    first, second, fresh = enlist(*asked), enlist(*asked), enlist(*asked, "--no-index")
    documents = [json.loads(said.out) for said in (first, second, fresh)]
    for document in documents:
        del document["cost"]
    assert first.code == 0 and documents[0] == documents[1] == documents[2]
    assert documents[0]["root_cause"]["component"] == "api"


def test_a_wrong_mapping_is_refused_by_name(log: Path, enlist: Any) -> None:
    (log.parent / "map.yaml").write_text("patern: x")
    said = enlist("logs", "summarize", str(log), "--mapping", "map.yaml")
    assert said.code == 2 and "patern" in said.err and "pattern" in said.err


def test_an_answer_in_the_time_given_says_what_was_read(log: Path, enlist: Any) -> None:
    said = enlist("logs", "summarize", str(log), "--budget-seconds", "1000", "--json")
    assert json.loads(said.out)["accounting"]["lines_read"] == 1200
