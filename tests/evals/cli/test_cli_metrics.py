"""Metrics of journals that were written by hand, read by Prometheus' own parser."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from enlist.evals.cli.metrics_of_runs import exposition, sum_up
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory import open_memory


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample that the official parser finds."""
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def journal(*events: tuple[float, str, str | None, dict[str, Any]]) -> list[Event]:
    return [Event(run="r", seq=n, attempt=1, time=time, kind=kind, role=role, data=data)  # type: ignore[arg-type]
            for n, (time, kind, role, data) in enumerate(events, 1)]


def test_roles_tools_replacements_tokens_and_dollars_are_summed_as_they_stand_in_the_journal() -> None:
    fault = {"code": "timeout", "message": "late"}
    sums = sum_up(journal(
        (10.0, "role.started", "a", {"agent": "x"}), (11.0, "tool.started", "a", {"key": "k"}),
        (14.0, "tool.failed", "a", {"key": "k", "tool": "t", "error": fault}),
        (15.0, "role.failed", "a", {"agent": "x", "error": fault}),
        (15.0, "role.reenlisted", "a", {"cause": "fault"}), (16.0, "role.started", "a", {"agent": "y"}),
        (17.0, "tool.started", "a", {"key": "k"}), (17.0, "note", "a", {"spent": {"tokens": 30}}),
        (17.0, "note", "a", {"spent": {"usd": 0.25}}), (17.0, "note", "a", {"spent": {"tokens": 12}}),
        (19.0, "tool.finished", "a", {"key": "k", "tool": "t", "seconds": 1.5}),
        (20.0, "role.finished", "a", {"agent": "y"}), (21.0, "role.failed", "b", {"error": fault, "final": True})))
    assert read(exposition(sums)) == {
        ("enlist_roles", (("ended", "failed"), ("role", "a"))): 1,
        ("enlist_roles", (("ended", "finished"), ("role", "a"))): 1,
        ("enlist_role_seconds", (("ended", "failed"), ("role", "a"))): 5,
        ("enlist_role_seconds", (("ended", "finished"), ("role", "a"))): 4,
        ("enlist_tool_calls", (("ended", "timeout"), ("tool", "t"))): 1,
        ("enlist_tool_calls", (("ended", "finished"), ("tool", "t"))): 1,
        ("enlist_tool_seconds", (("ended", "timeout"), ("tool", "t"))): 3,
        ("enlist_tool_seconds", (("ended", "finished"), ("tool", "t"))): 1.5,
        ("enlist_reenlistments", (("cause", "fault"),)): 1, ("enlist_tokens", ()): 42, ("enlist_usd", ()): 0.25}


def test_whatever_stands_in_a_label_is_read_back() -> None:
    text = 'a "quoted" \\ back\nslash\\n é'
    assert read(exposition({("enlist_roles", (("role", text),)): 1})) == {("enlist_roles", (("role", text),)): 1}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A store with a run that was accepted and that nobody drives."""
    home = tmp_path / "home"
    home.mkdir()
    memory = open_memory(f"sqlite://{home / 'store.db'}")
    memory.commit("one", 0, [NewEvent(kind="run.interrupted", data={"reason": "test"})])
    memory.close()
    return home


def test_the_command_prints_them_and_an_interrupted_run_counts_as_that(enlist: Any, home: Path) -> None:
    said = enlist("metrics")
    assert said.code == 0 and read(said.out)["enlist_runs", (("status", "interrupted"),)] == 1
    rows = enlist("metrics", "--json").document["metrics"]
    assert {"metric": "enlist_runs", "labels": {"status": "interrupted"}, "value": 1} in rows


def test_prometheus_scrapes_them_and_sees_what_came_in_meanwhile(home: Path) -> None:
    server = subprocess.Popen([sys.executable, "-c", "import sys; from enlist.evals.cli.main import main; "
                               "sys.exit(main(['metrics', '--port', '0']))"],
                              env={"ENLIST_HOME": str(home), "PATH": "/usr/bin:/bin"}, cwd=home,
                              stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        url = server.stderr.readline().strip()
        assert read(httpx.get(url).text)["enlist_runs", (("status", "interrupted"),)] == 1
        memory = open_memory(f"sqlite://{home / 'store.db'}")
        memory.commit("one", 0, [NewEvent(kind="run.finished", data={"status": "done"}),
                                 NewEvent(kind="note", role="a", data={"spent": {"tokens": 7}})])
        memory.close()
        answer = httpx.get(url)
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        samples = read(answer.text)
        assert samples["enlist_runs", (("status", "done"),)] == 1 and samples["enlist_tokens", ()] == 7
        assert ("enlist_runs", (("status", "interrupted"),)) not in samples
        assert httpx.get(url.replace("metrics", "other")).status_code == 404
    finally:
        server.terminate()
        server.communicate(timeout=30)
