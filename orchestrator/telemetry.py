"""OpenTelemetry: the spans of a run, its roles and its tools, posted to a collector while the run goes on.

On only where OTEL_EXPORTER_OTLP_ENDPOINT is set. A thread of its own tails the journal and posts OTLP as JSON over
HTTP. It holds nothing up and fails nothing: a collector that is slow or gone costs the run at most `FAREWELL` seconds,
at its end. Spans carry names, times, statuses and versions; no text of a request, no claim and no file.

Form: OTLP 1.x, JSON encoding (opentelemetry.io/docs/specs/otlp). Ids are hashes of what they name, so that a span that
is sent twice is the same span.
"""

import hashlib
import logging
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote, urlsplit

from enlist.tools.runtime.events import Event
from enlist.tools.runtime.memory.protocol import Memory

ENDPOINT, HEADERS, SERVICE = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME"
LOOK = 2.0  # seconds between two looks at the journal
POST_S = 2.0  # seconds that the collector gets to answer
FAREWELL = 3.0  # seconds that the end of a run waits for the last spans
MOST_KEPT = 2000  # spans that wait for a collector; older ones are dropped
SCOPE = "enlist.orchestrator"

log = logging.getLogger(__name__)
Span = dict[str, Any]


@contextmanager
def exporting(memory: Memory, run: str, attempt: int) -> Iterator[None]:
    """Post the spans of an attempt of a run while the context is open, where an endpoint is set; never raises."""
    endpoint = os.environ.get(ENDPOINT, "").strip()
    if not endpoint:
        yield
        return
    if urlsplit(endpoint).scheme not in ("http", "https"):
        log.warning("%s is no http(s) address: no spans are sent", ENDPOINT)
        yield
        return
    exporter = Exporter(memory, run, attempt, endpoint)
    exporter.start()
    try:
        yield
    finally:
        exporter.finish()


class Exporter(threading.Thread):
    """The thread that tails one attempt's events and posts its spans."""

    def __init__(self, memory: Memory, run: str, attempt: int, endpoint: str) -> None:
        super().__init__(name="enlist-telemetry", daemon=True)
        self.memory, self.run_id, self.url = memory, run, f"{endpoint.rstrip('/')}/v1/traces"
        self.spans = Spans(run, attempt)
        self.waiting: deque[Span] = deque(maxlen=MOST_KEPT)
        self.fault = ""
        self._seen = 0
        self._end = threading.Event()

    def finish(self) -> None:
        """Send what is left, for at most `FAREWELL` seconds; a collector that did not answer is not waited for."""
        self._end.set()
        self.join(0.1 if self.fault else FAREWELL)
        if self.fault or self.is_alive():
            log.warning("spans of run %s did not reach %s: %s", self.run_id, urlsplit(self.url).hostname,
                        self.fault or "no answer in time")

    def run(self) -> None:
        """Look at the journal until the end, and once more then."""
        ended = False
        while not ended:
            ended = self._end.wait(LOOK)
            try:
                self._look()
            except Exception as error:  # whatever it is, a run does not end for it
                self.fault = type(error).__name__

    def _look(self) -> None:
        events = self.memory.events(self.run_id, after=self._seen)
        for event in events:
            self.waiting.extend(self.spans.fold(event))
            self._seen = event.seq
        while self.waiting:
            batch = [self.waiting[n] for n in range(min(200, len(self.waiting)))]
            if not self._post(batch):
                return
            for _ in batch:
                self.waiting.popleft()

    def _post(self, batch: list[Span]) -> bool:
        import httpx

        try:
            answer = httpx.post(self.url, json=document(batch), headers=_headers(), timeout=POST_S)
            answer.raise_for_status()
        except httpx.HTTPError as error:
            self.fault = type(error).__name__  # its text may hold the address, and that a password
            return False
        self.fault = ""
        return True


@dataclass
class Spans:
    """The spans that end with an event: of the attempt, of each filling of a role in it, of each call of a tool."""

    run: str
    attempt: int
    _open: dict[tuple[str, str], tuple[str, Event]] = field(default_factory=dict)

    def fold(self, event: Event) -> list[Span]:
        """The span that `event` ends, if it is one of this attempt."""
        if event.attempt != self.attempt:
            return []
        data, role = event.data, event.role or ""
        match event.kind:
            case "attempt.opened":
                self._begin(("run", ""), event)
            case "role.started":
                self._begin(("role", role), event)
            case "tool.started":
                self._begin(("tool", data["key"]), event)
            case "run.finished" | "run.interrupted":
                status = data.get("status", "interrupted")
                return self._finish(("run", ""), event, f"run {status}", {"enlist.status": status}, "",
                                    failed=status == "failed")
            case "role.finished" | "role.failed":
                return self._finish(("role", role), event, f"role {role}", {"enlist.agent": data.get("agent", "")},
                                    self._id(("run", "")))
            case "tool.finished" | "tool.failed":
                about = {"enlist.tool.version": data.get("version", ""), "enlist.sandbox": data.get("level") or "none"}
                return self._finish(("tool", data["key"]), event, f"tool {data['tool']}", about,
                                    self._id(("role", role)) or self._id(("run", "")))
        return []

    def _begin(self, what: tuple[str, str], event: Event) -> None:
        self._open[what] = _hash(16, self.run, str(self.attempt), *what, str(event.seq)), event

    def _id(self, what: tuple[str, str]) -> str:
        return self._open[what][0] if what in self._open else ""

    def _finish(self, what: tuple[str, str], event: Event, name: str, about: Mapping[str, str], parent: str,
                failed: bool = False) -> list[Span]:
        if what not in self._open:
            return []  # begun before this attempt
        id, begun = self._open.pop(what)
        fault = event.data.get("error", {}).get("code", "")
        told = {"enlist.run": self.run, "enlist.attempt": str(self.attempt), **about}
        if event.role:
            told["enlist.role"] = event.role
        span: Span = {
            "traceId": _hash(32, self.run), "spanId": id, "name": name, "kind": 1,
            "startTimeUnixNano": str(int(begun.time * 1e9)),
            "endTimeUnixNano": str(int(max(begun.time, event.time) * 1e9)),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in told.items()],
            "status": {"code": 2, "message": fault} if fault or failed else {"code": 1}}
        return [{**span, "parentSpanId": parent} if parent else span]


def document(spans: list[Span]) -> dict[str, Any]:
    """The body of a post: an ExportTraceServiceRequest in JSON."""
    about = {"service.name": os.environ.get(SERVICE) or "enlist", "service.version": version("enlist")}
    return {"resourceSpans": [{
        "resource": {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]},
        "scopeSpans": [{"scope": {"name": SCOPE}, "spans": spans}]}]}


def _headers() -> dict[str, str]:
    """The headers in OTEL_EXPORTER_OTLP_HEADERS: `key=value,key=value`, percent-encoded."""
    pairs = [one.partition("=") for one in os.environ.get(HEADERS, "").split(",") if "=" in one]
    return {unquote(key).strip(): unquote(value).strip() for key, _, value in pairs}


def _hash(length: int, *parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:length]
