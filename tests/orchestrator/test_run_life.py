"""A run survives what happens to its driver: killed, told to stop, out of time, beside another run.

The plug-in's analyst counts words in a process that leaves a line in a file each time it is executed, so that repeated
work can be counted from outside.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from enlist.tools.runtime.events import Event
from enlist.tools.runtime.memory import open_memory

REQUEST = "count the words in this text"
WAIT = 120.0  # seconds for something that must happen at some time; says nothing of speed
BLOCKED_REPORT = """
import sys, time
from pathlib import Path
import enlist.orchestrator.run as run
marker = Path(sys.argv.pop())
def block(*arguments):
    marker.touch()
    time.sleep(3600)
run.write_report = block
from enlist.evals.cli.main import main
main()
"""


class Place:
    """A home of its own, a text to count, and the runs made there."""

    def __init__(self, folder: Path, environment: dict[str, str], effects: Path) -> None:
        self.folder, self.effects = folder, effects
        self.environment = {**environment, "ENLIST_HOME": str(folder / "home"), "ENLIST_OUT": str(folder / "out"),
                            "SAMPLE_SIDE_EFFECTS": str(effects)}
        self.text = folder / "notes.txt"
        self.ended: set[str] = set()

    def command(self, *words: str) -> list[str]:
        return [str(Path(sys.executable).parent / "enlist"), *words]

    def ask(self) -> list[str]:
        return ["run", REQUEST, "--attach", str(self.text), "--json"]

    def start(self, *words: str, script: str | None = None) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, *words] if script else self.command(*words)
        return subprocess.Popen(command, env=self.environment, cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def call(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(self.command(*words), env=self.environment, cwd=self.folder, text=True,
                              capture_output=True, timeout=300)
        assert done.stdout, done.stderr
        document = json.loads(done.stdout)
        self.ended.add(str(document.get("run")))
        return done.returncode, document

    def events(self) -> list[Event]:
        """The journal of the run that is under way, or of none."""
        path = self.folder / "home" / "store.db"
        if not path.exists():
            return []
        memory = open_memory(f"sqlite://{path}")
        try:
            runs = [run for run in memory.runs() if run not in self.ended]
            return memory.events(runs[0]) if runs else []
        finally:
            memory.close()

    def wait_for(self, happened: Callable[[list[Event]], bool], driver: subprocess.Popen[str]) -> str:
        """Wait until the journal of the run that is under way shows something; returns the run's id."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            events = self.events()
            if happened(events):
                return events[0].run
            assert driver.poll() is None, driver.communicate()
            time.sleep(0.05)
        raise AssertionError([e.kind for e in self.events()])

    def executions(self) -> list[str]:
        return self.effects.read_text().split()


@pytest.fixture
def place(tmp_path: Path, sample_plugin: dict[str, str], side_effects: Path) -> Place:
    return Place(tmp_path, sample_plugin, side_effects)


def content(document: dict[str, Any]) -> dict[str, Any]:
    return json.loads(Path(document["report"]["json"]).read_text())["content"]


def kill(driver: subprocess.Popen[str]) -> list[psutil.Process]:
    """Kill -9 the driver; its descendants, as they were."""
    below = psutil.Process(driver.pid).children(recursive=True)
    driver.kill()
    driver.communicate()
    return below


def all_gone(processes: list[psutil.Process], seconds: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def in_tool(events: list[Event]) -> bool:
    return any(e.kind == "tool.progress" for e in events)


def between_steps(events: list[Event]) -> bool:
    return any(e.kind == "role.finished" for e in events)


def ended(kind: str, events: list[Event]) -> list[Event]:
    return [e for e in events if e.kind == kind]


@pytest.mark.parametrize("point", ["between steps", pytest.param("in a tool", marks=pytest.mark.slow),
                                   pytest.param("in the report", marks=pytest.mark.slow)])
def test_a_killed_run_is_resumed_to_the_same_content_without_repeating_work(place: Place, point: str) -> None:
    place.text.write_text("one two three\n" + ("sleep 8\n" if point == "in a tool" else ""))
    _, whole = place.call(*place.ask())
    assert whole["status"] == "done" and len(whole["findings"]) == 1
    before = place.executions()

    if point == "in the report":
        marker = place.folder / "blocked"
        driver = place.start(*place.ask(), str(marker), script=BLOCKED_REPORT)
        until = time.monotonic() + WAIT
        while not marker.exists() and driver.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        run = place.events()[0].run
    else:
        driver = place.start(*place.ask())
        run = place.wait_for(in_tool if point == "in a tool" else between_steps, driver)
        if point == "in a tool":
            code, refused = place.call("resume", run, "--json")
            assert (code, refused["error"]["code"]) == (2, "lease_held")
    below = kill(driver)
    assert below and all_gone(below, 10.0)

    code, again = place.call("resume", run, "--json")
    assert code == 0 and content(again) == content(whole)
    assert len(again["findings"]) == len({c["finding"]["id"] for c in again["findings"]}) == 1
    since = place.executions()[len(before):]
    assert since.count("finished") == 1
    assert since.count("started") == (2 if point == "in a tool" else 1)
    place.ended.discard(run)
    finished = [e.key for e in ended("tool.finished", place.events())]
    assert len(finished) == len(set(finished)) == 2


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT])
def test_a_signal_leaves_a_run_that_can_be_resumed(place: Place, number: signal.Signals) -> None:
    place.text.write_text("one two three\nsleep 12\n")
    driver = place.start(*place.ask())
    run = place.wait_for(in_tool, driver)
    below = psutil.Process(driver.pid).children(recursive=True)
    driver.send_signal(number)
    printed, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert json.loads(printed)["status"] == "interrupted" and f"enlist resume {run}" in json.loads(printed)["next"]
    assert all_gone(below, 10.0)
    if number == signal.SIGTERM:
        code, again = place.call("resume", run, "--json", "--budget-seconds", "120")
        assert code == 0 and again["status"] == "done"


def test_a_run_is_stopped_from_another_terminal(place: Place) -> None:
    place.text.write_text("one two three\nsleep 30\n")
    driver = place.start(*place.ask())
    run = place.wait_for(in_tool, driver)
    code, _ = place.call("stop", run, "--json")
    driver.communicate(timeout=60)
    assert (code, driver.returncode) == (0, 130)


def test_a_spent_budget_ends_in_a_report_and_exit_code_3(place: Place) -> None:
    place.text.write_text("one two three\nsleep 50\n")
    code, document = place.call(*place.ask(), "--budget-seconds", "5")
    assert (code, document["status"]) == (3, "budget") and Path(document["report"]["md"]).exists()
    assert document["next"].startswith("enlist resume")


def test_two_runs_at_once_share_the_store_and_nothing_else(place: Place) -> None:
    place.text.write_text("one two three\n")
    drivers = [place.start(*place.ask()) for _ in range(2)]
    documents = [json.loads(d.communicate(timeout=300)[0]) for d in drivers]
    assert [d["status"] for d in documents] == ["done", "done"]
    assert documents[0]["run"] != documents[1]["run"] and content(documents[0]) == content(documents[1])
    assert place.executions().count("finished") == 2


def test_a_request_that_nothing_serves_says_so_without_starting_anything(place: Place) -> None:
    code, document = place.call("run", "please water my plants on tuesdays", "--json")
    assert code == 1 and document["status"] == "failed" and document["plan"] is None
    assert "Ray" not in json.dumps(document) and not document["team"]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test leaves a process of its own behind; other files' tests in this process may have left a helper."""
    before = set(psutil.Process(os.getpid()).children(recursive=True))
    yield
    time.sleep(0.1)
    mine = set(psutil.Process(os.getpid()).children(recursive=True)) - before
    assert not [p for p in mine if p.is_running() and p.status() != psutil.STATUS_ZOMBIE], mine
