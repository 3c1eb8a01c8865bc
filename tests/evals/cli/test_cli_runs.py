"""Runs seen from the command line: their exit status, and what any terminal can see and do without Ray."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enlist.orchestrator.plan import Planning
from enlist.orchestrator.request import Request
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory, NewRecord
from enlist.tools.runtime.memory.retention import GRACE_S

MODEL = """
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
    def forward(self, x):
        return self.inner(x)
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """The store that the program uses in these tests."""
    opened = open_memory(f"sqlite://{tmp_path / 'home' / 'store.db'}")
    yield opened
    opened.close()


def accept(memory: Memory, run: str, text: str = "translate this poem") -> None:
    """A run that was accepted and found nothing to do."""
    memory.commit(run, 0, [
        NewEvent(kind="run.accepted", key="accepted", data={
            "request": Request(text=text).model_dump(mode="json"),
            "pins": {"seed": 0, "snapshot": "shipped", "versions": {}}}),
        NewEvent(kind="run.planned", key="planned", data={"planning": Planning(plan=None).model_dump(mode="json"),
                                                          "pins": {}, "team": None})])


def end(memory: Memory, run: str, status: str, attempt: int = 0) -> None:
    last = NewEvent(kind="run.finished", data={"status": status})
    if status == "interrupted":
        last = NewEvent(kind="run.interrupted", data={"reason": "stopped"})
    memory.commit(run, attempt, [last])


def test_a_request_that_nothing_fits_fails_with_a_report_and_the_nearest_capabilities(
        enlist: Any, tmp_path: Path) -> None:
    said = enlist("run", "translate this poem", "--out", "reports", "--json")
    assert said.code == 1
    assert {"run", "status", "plan", "team", "findings", "missing", "report", "cost", "reenlisted", "next"} <= set(
        said.document)
    assert said.document["status"] == "failed" and said.document["plan"] is None
    for path in said.document["report"].values():
        assert Path(path).is_relative_to(tmp_path / "reports") and Path(path).is_file()


def test_people_read_the_answer_first_then_the_report_then_the_next_command(enlist: Any) -> None:
    said = enlist("run", "translate this poem")
    first, report, following = (said.out.index(word) for word in ("Failed", "Report:", "Next:"))
    assert first < report < following and first == 0


@pytest.mark.parametrize(("status", "code"), [("done", 0), ("partial", 1), ("failed", 1), ("budget", 3),
                                              ("interrupted", 130)])
def test_following_a_run_ends_with_its_exit_status_and_showing_it_with_none(
        enlist: Any, memory: Memory, status: str, code: int) -> None:
    accept(memory, "r1")
    end(memory, "r1", status)
    said = enlist("show", "r1", "--follow", "--json")
    assert said.code == code and said.document["status"] == status
    assert enlist("show", "r1", "--json").code == 0
    assert [row["status"] for row in enlist("runs", "--json").document["runs"]] == [status]


def test_follow_streams_the_events_of_a_living_run_until_it_ends(enlist: Any, memory: Memory) -> None:
    accept(memory, "r1")
    attempt = memory.take_lease("r1", this_owner(), 60).attempt
    memory.commit("r1", attempt, [NewEvent(kind="attempt.opened", key="attempt:1")])

    def finish() -> None:
        end(memory, "r1", "done", attempt)
        memory.release_lease("r1", attempt)

    alive = enlist("show", "r1", "--json")
    assert (alive.document["status"], alive.document["next"]) == ("running", "enlist show r1 --follow")
    later = threading.Timer(1.0, finish)
    later.start()
    said = enlist("show", "r1", "--follow", "--jsonl")
    later.join()
    kinds = [json.loads(line)["kind"] for line in said.out.splitlines()]
    assert kinds == ["run.accepted", "run.planned", "attempt.opened", "run.finished", "result"] and said.code == 0


def test_a_run_whose_driver_died_is_listed_as_interrupted_and_following_it_ends(enlist: Any, memory: Memory) -> None:
    accept(memory, "r1")
    dead = this_owner().model_copy(update={"started": 0.0})  # its process id now belongs to another process
    attempt = memory.take_lease("r1", dead, 3600).attempt
    memory.commit("r1", attempt, [NewEvent(kind="attempt.opened", key="attempt:1")])
    assert [row["status"] for row in enlist("runs", "--json").document["runs"]] == ["interrupted"]
    said = enlist("show", "r1", "--follow", "--json")
    assert said.code == 130 and said.document["next"] == "enlist resume r1"


def test_stop_reaches_the_living_run_through_the_store(enlist: Any, memory: Memory) -> None:
    accept(memory, "r1")
    attempt = memory.take_lease("r1", this_owner(), 60).attempt
    said = enlist("stop", "r1")
    assert said.code == 0 and "enlist resume r1" in said.out
    assert memory.find_event("r1", "stop.requested", f"stop:{attempt}") is not None


def test_resume_of_a_living_run_is_refused_and_says_who_holds_it(enlist: Any, memory: Memory) -> None:
    enlist("run", "translate this poem")
    run = memory.runs(1)[0]
    memory.commit(run, memory.lease(run).attempt, [NewEvent(kind="attempt.opened", key="again")])  # type: ignore
    memory.take_lease(run, this_owner(), 60)
    said = enlist("resume", run, "--json")
    assert said.code == 2 and said.document["error"]["code"] == "lease_held"


def test_resume_of_a_run_that_has_ended_shows_it_again(enlist: Any) -> None:
    first = enlist("run", "translate this poem", "--json")
    again = enlist("resume", first.document["run"], "--json")
    assert again.code == first.code
    assert again.document["status"] == "failed" and again.document["report"] == first.document["report"]


def test_gc_tells_what_it_would_delete_and_deletes_when_told_so(enlist: Any, memory: Memory) -> None:
    for n in range(3):
        accept(memory, f"r{n}")
        end(memory, f"r{n}", "done")
    assert len(enlist("gc", "--keep", "1", "--json").document["runs"]) == 2
    assert len(memory.runs()) == 3
    assert enlist("gc", "--keep", "1", "--yes").code == 0
    assert len(memory.runs()) == 1
    assert enlist("gc", "--older-than", str(GRACE_S), "--json").document["runs"] == []


def test_gc_says_what_waits_how_long_and_what_is_not_touched(enlist: Any, memory: Memory, tmp_path: Path) -> None:
    first = enlist("run", "translate this poem", "--json").document  # keeps its three report files in the store
    size = sum(Path(path).stat().st_size for path in first["report"].values())
    for yes in ((), ("--yes",)):
        found = enlist("gc", "--keep", "0", *yes, "--json").document
        assert found["artifacts"] == [] and (found["waiting"], found["waiting_bytes"]) == (3, size)
        assert found["grace_seconds"] == GRACE_S
    said = enlist("gc", "--keep", "0").out
    assert f"{GRACE_S / 3600:.0f} hours" in said and "3 (" in said
    assert "enlist-out" in said and "not touched" in said
    assert all(Path(path).is_file() for path in first["report"].values())


def test_the_lines_of_a_run_that_has_ended_are_its_events_and_then_its_result(enlist: Any, memory: Memory) -> None:
    accept(memory, "r1")
    end(memory, "r1", "done")
    said = enlist("show", "r1", "--jsonl")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert lines[:-1] == [event.model_dump(mode="json") for event in memory.events("r1")] and len(lines) == 4
    assert lines[-1] == {"kind": "result", **enlist("show", "r1", "--json").document}
    assert [json.loads(line)["kind"] for line in enlist("show", "absent", "--jsonl").out.splitlines()] == ["error"]


def test_a_team_is_that_of_the_pool_that_a_run_would_take(
        enlist: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    call = ("team", "How far is this model from the limit of an H100?", "--attach", "model.py", "--json")
    before = {m["role"]: m["agent"] for m in enlist(*call).document["team"]}
    bad = {m: {"*" if m.startswith("writer") else "speed_of_light": {
        "quality": None, "reliability": {"good": 1.0, "bad": 99.0}}} for m in before.values()}
    memory.commit("", 0, [], [NewRecord(kind="snapshot", id="sbad", data={"tracks": bad})])
    after = {m["role"]: m["agent"] for m in enlist(*call).document["team"]}
    assert set(after.values()).isdisjoint(before.values())  # who failed 98 times is not chosen again
    pinned = enlist(*call[:-1], "--snapshot", "shipped", "--json").document["team"]
    assert {m["role"]: m["agent"] for m in pinned} == before
    assert enlist(*call, "--snapshot", "sNone").document["error"]["code"] == "not_found"
    assert enlist(*call, "--snapshot", "sbad", "--pool", "cards.json").document["error"]["code"] == "bad_input"


def test_a_snapshot_that_was_taken_is_one_that_a_run_accepts(enlist: Any) -> None:
    taken = enlist("agents", "snapshot").out.strip()
    said = enlist("run", "translate this poem", "--snapshot", taken, "--json")
    assert said.code == 1 and said.document["status"] == "failed"
    unknown = enlist("run", "translate this poem", "--snapshot", "sNone", "--json")
    assert unknown.code == 2 and unknown.document["error"]["code"] == "not_found"


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "x"])
def test_a_budget_that_is_no_time_is_refused(enlist: Any, seconds: str) -> None:
    assert enlist("run", "translate this poem", "--budget-seconds", seconds).code == 2
