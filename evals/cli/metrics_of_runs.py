"""Metrics out of the journal, in Prometheus' text format.

They are right for runs of any machine that shares the store. All are gauges over the runs that the store still holds:
`enlist gc` lowers them, which a counter may not.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from enlist.evals.cli.show import status_now
from enlist.orchestrator.state import RunState
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event
from enlist.tools.runtime.memory.protocol import Memory

Labels = tuple[tuple[str, str], ...]
Sums = defaultdict[tuple[str, Labels], float]

FAMILIES = {
    "enlist_runs": "Runs, by status.",
    "enlist_roles": "Fillings of roles that ended, by role and how.",
    "enlist_role_seconds": "Wall seconds of these fillings.",
    "enlist_tool_calls": "Calls of tools that ended, by tool and how (finished, or the fault's code).",
    "enlist_tool_seconds": "Wall seconds of these calls.",
    "enlist_reenlistments": "Agents that were replaced, by cause.",
    "enlist_tokens": "Tokens of language models.",
    "enlist_usd": "US dollars of language models.",
}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_S = 10.0  # seconds that a scraper gets to send its request


@dataclass(frozen=True)
class Reckoned:
    """A run as far as its journal was read, and its sums."""

    state: RunState
    sums: Sums


def reckon(memory: Memory, limit: int, known: dict[str, Reckoned]) -> Sums:
    """The sums over the newest `limit` runs. In `known` stands what is known of each run already: one that has no new
    events is not read again."""
    total: Sums = defaultdict(float, {("enlist_tokens", ()): 0.0, ("enlist_usd", ()): 0.0})
    for id in memory.runs(limit):
        run = known.get(id)
        if run is None or memory.events(id, after=run.state.last_seq, limit=1):
            events = memory.events(id)
            run = known[id] = Reckoned(RunState(id), sum_up(events))
            run.state.extend(events)
        for what, amount in run.sums.items():
            total[what] += amount
        total["enlist_runs", (("status", status_now(memory, run.state)),)] += 1
    return total


def sum_up(events: Iterable[Event]) -> Sums:
    """The sums of one run's journal, but for its status."""
    sums: Sums = defaultdict(float)
    begun: dict[tuple[str, str | None], float] = {}
    for event in events:
        role, data = event.role or "", event.data
        match event.kind:
            case "role.started":
                begun["role", role] = event.time
            case "role.finished" | "role.failed" if ("role", role) in begun:
                how = (("ended", event.kind.removeprefix("role.")), ("role", role))
                sums["enlist_roles", how] += 1
                sums["enlist_role_seconds", how] += max(0.0, event.time - begun.pop(("role", role)))
            case "tool.started":
                begun["tool", data["key"]] = event.time
            case "tool.finished" | "tool.failed":
                how = (("ended", data["error"]["code"] if "error" in data else "finished"), ("tool", data["tool"]))
                start = begun.pop(("tool", data["key"]), event.time)
                sums["enlist_tool_calls", how] += 1
                sums["enlist_tool_seconds", how] += max(0.0, data.get("seconds", event.time - start))
            case "role.reenlisted":
                sums["enlist_reenlistments", (("cause", data.get("cause", "fault")),)] += 1
            case "note":
                for kind, amount in data.get("spent", {}).items():
                    sums[f"enlist_{kind}", ()] += amount
    return sums


def exposition(sums: Mapping[tuple[str, Labels], float]) -> str:
    """The sums in Prometheus' text format, version 0.0.4."""
    lines = []
    for family, meaning in FAMILIES.items():
        lines += [f"# HELP {family} {meaning}", f"# TYPE {family} gauge"]
        for (name, labels), value in sorted(sums.items()):
            if name == family:
                shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
                lines.append(f"{name}{{{shown}}} {float(value)!r}" if shown else f"{name} {float(value)!r}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def serve(host: str, port: int, render: Callable[[], str], listening: Callable[[str], None]) -> None:
    """Answer GET /metrics with `render()`, one request at a time, until interrupted; tell `listening` the address."""

    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_S

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            try:
                text, status = render(), 200
            except EnlistError as error:  # a store that does not answer now may answer the next scrape
                text, status = error.sentence() + "\n", 503
            body = text.encode("utf-8", "replace")
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """A scrape is no news."""

    try:
        server = HTTPServer((host, port), Handler)
    except OSError as error:
        raise EnlistError("bad_input", f"cannot listen there: {error}", given=f"{host}:{port}",
                          fix="name another --port, or 0 for any that is free") from error
    with server:
        listening(f"http://{host}:{server.server_port}/metrics")
        server.serve_forever()
