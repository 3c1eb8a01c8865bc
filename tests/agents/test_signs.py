"""Ending a process by its identity, and signs of life."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from enlist.agents import signs
from enlist.agents.signs import Pulse, end_process, whereabouts
from enlist.tools.runtime.memory import open_memory

TELL = ("import json, time\nfrom enlist.tools.runtime.memory.owner import this_owner\n"
        "print(json.dumps(this_owner().model_dump()), flush=True)\ntime.sleep(600)")


@pytest.fixture
def child() -> Iterator[tuple["subprocess.Popen[str]", dict[str, object]]]:
    """A process that sleeps, and its identity as it tells it."""
    import json

    process = subprocess.Popen([sys.executable, "-c", TELL], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process, json.loads(process.stdout.readline())
    process.kill()
    process.wait()


def test_a_running_and_a_frozen_process_are_ended_and_told_apart(child) -> None:
    process, owner = child
    assert end_process(owner) == "running" and process.wait(10) == -signal.SIGKILL
    assert end_process(owner) == "gone"


def test_a_frozen_process_is_ended_too(child) -> None:
    process, owner = child
    process.send_signal(signal.SIGSTOP)
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        pass
    assert end_process(owner) == "frozen" and process.wait(10) == -signal.SIGKILL


def test_a_process_that_only_has_the_same_number_is_left_alone(child) -> None:
    process, owner = child
    assert end_process({**owner, "started": float(owner["started"]) - 60.0}) == "gone" and process.poll() is None


def test_a_pulse_beats_at_most_once_in_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, now = open_memory(f"sqlite://{tmp_path / 'store.db'}"), [100.0]
    monkeypatch.setattr(signs.time, "monotonic", lambda: now[0])
    pulse = Pulse(memory, "r", 0, "role")
    for seconds in (1.0, 3.0, 1.5, 0.5, 4.4, 0.2):
        now[0] += seconds
        pulse.beat("works")
    assert [e.data for e in memory.events("r")] == [{"alive": "works"}] * 2
    assert whereabouts()["node"] is None
