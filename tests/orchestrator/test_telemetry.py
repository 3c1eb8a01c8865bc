"""Spans of runs at a collector of this machine, and at collectors that hang, refuse or are not there."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from enlist.orchestrator import telemetry
from enlist.orchestrator.telemetry import Spans, exporting
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory

POSTS: list[tuple[str, dict[str, str], dict[str, Any]]] = []


class Collector(BaseHTTPRequestHandler):
    """Keeps what is posted; answers 503 to the first post of those who ask for it."""

    refuse = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = 503 if Collector.refuse > 0 else 200
        Collector.refuse -= 1
        if status == 200:
            POSTS.append((self.path, dict(self.headers), body))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    POSTS.clear()
    Collector.refuse = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, other=c")
    yield
    server.shutdown()
    server.server_close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    store = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    yield store
    store.close()


def live(memory: Memory, run: str = "run") -> None:
    """The journal of a small run: a role with a tool that fails and one that does not, and a role that fails."""
    fault = {"code": "timeout", "message": "a secret of the request"}
    for kind, role, data in (
            ("attempt.opened", None, {}), ("role.started", "a", {"agent": "x"}), ("tool.started", "a", {"key": "k"}),
            ("tool.failed", "a", {"key": "k", "tool": "t", "version": "2", "level": "full", "error": fault}),
            ("tool.started", "a", {"key": "k"}),
            ("tool.finished", "a", {"key": "k", "tool": "t", "version": "2", "level": "full", "seconds": 1.0}),
            ("role.finished", "a", {"agent": "x"}), ("role.started", "b", {"agent": "y"}),
            ("role.failed", "b", {"agent": "y", "error": fault}), ("run.finished", None, {"status": "partial"})):
        memory.commit(run, 0, [NewEvent(kind=kind, role=role, data=data)])  # type: ignore[arg-type]


def sent() -> list[dict[str, Any]]:
    return [span for _, _, body in POSTS for resource in body["resourceSpans"]
            for scope in resource["scopeSpans"] for span in scope["spans"]]


@pytest.mark.usefixtures("collector")
def test_run_roles_and_tools_arrive_as_spans_within_each_other(memory: Memory) -> None:
    with exporting(memory, "run", 0):
        live(memory)
    spans = sent()
    assert [span["name"] for span in spans] == ["tool t", "tool t", "role a", "role b", "run partial"]
    root, role = spans[-1], spans[2]
    assert "parentSpanId" not in root and role["parentSpanId"] == root["spanId"] == spans[3]["parentSpanId"]
    assert spans[0]["parentSpanId"] == spans[1]["parentSpanId"] == role["spanId"]
    assert len({span["spanId"] for span in spans}) == 5 and {span["traceId"] for span in spans} == {root["traceId"]}
    for span in spans:
        assert len(bytes.fromhex(span["traceId"])) == 16 and len(bytes.fromhex(span["spanId"])) == 8
        assert int(root["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        assert int(span["endTimeUnixNano"]) <= int(root["endTimeUnixNano"])
    assert [span["status"] for span in spans] == [{"code": 2, "message": "timeout"}, {"code": 1}, {"code": 1},
                                                  {"code": 2, "message": "timeout"}, {"code": 1}]
    path, headers, body = POSTS[0]
    assert path == "/v1/traces" and headers["Content-Type"] == "application/json"
    assert (headers["x-key"], headers["other"]) == ("a b", "c")
    about = body["resourceSpans"][0]["resource"]["attributes"]
    assert {"key": "service.name", "value": {"stringValue": "enlist"}} in about
    assert "secret" not in json.dumps(POSTS)


@pytest.mark.usefixtures("collector")
def test_what_a_collector_refused_is_sent_again_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "LOOK", 0.05)
    Collector.refuse = 2
    with exporting(memory, "run", 0):
        live(memory)
        until = time.monotonic() + 60
        while len(sent()) < 5 and time.monotonic() < until:
            time.sleep(0.02)
    assert [span["name"] for span in sent()] == ["tool t", "tool t", "role a", "role b", "run partial"]


def test_only_spans_of_the_attempt_are_told_and_their_ids_are_always_the_same() -> None:
    def at(seq: int, attempt: int, kind: str, role: str | None = None) -> Event:
        return Event.model_validate({"run": "r", "seq": seq, "attempt": attempt, "time": float(seq), "kind": kind,
                                     "role": role, "data": {}})

    events = [at(1, 1, "attempt.opened"), at(2, 1, "role.started", "a"), at(3, 2, "attempt.opened"),
              at(4, 2, "role.started", "a"), at(5, 1, "role.finished", "a"), at(6, 2, "role.finished", "a"),
              at(7, 2, "run.interrupted")]
    one, other = Spans("r", 2), Spans("r", 2)
    told = [span for event in events for span in one.fold(event)]
    assert [(span["name"], span["startTimeUnixNano"]) for span in told] == [("role a", "4000000000"),
                                                                            ("run interrupted", "3000000000")]
    assert [span for event in events for span in other.fold(event)] == told


@pytest.mark.parametrize("address", ["nothing listens", "hangs", "no address"])
def test_a_collector_that_is_not_there_fails_nothing_and_is_told_once(
        memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, address: str) -> None:
    monkeypatch.setattr(telemetry, "FAREWELL", 0.5)
    with socket.socket() as silent, caplog.at_level(logging.WARNING):
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        if address == "hangs":
            silent.listen()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "somewhere" if address == "no address"
                           else f"http://user:password@127.0.0.1:{port}")
        with exporting(memory, "run", 0):
            live(memory)
    assert len(caplog.records) == 1 and "password" not in caplog.text


def test_without_an_endpoint_there_is_no_thread(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    with exporting(memory, "run", 0):
        assert not [thread for thread in threading.enumerate() if thread.name == "enlist-telemetry"]
