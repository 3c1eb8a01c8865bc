"""How services write: one `Pen` per service turns a record into the physical lines of its format.

JSON lines, logfmt, syslog with and without a year, access logs with an error log beside them, a Java-like layout and a
Python-like one with stack traces over several lines, container runtime lines, a database-like bracket layout, klog, and
plain lines with milliseconds since the epoch. Details that vary between real services (names of keys, order of keys,
names of levels) are drawn for each service, never from its name.
"""

import json
from collections.abc import Callable, Mapping
from random import Random

from enlist.environments.incident_logs.clock import Clock
from enlist.environments.incident_logs.model import Emission, Level, Service, Value
from enlist.environments.incident_logs.traces import go_trace, java_trace, python_trace

MOST_PARTIAL = 180
"""Characters after which a container runtime splits a line here; real ones split at 16 KiB."""
_KEYS = (("ts", "level", "msg", "trace_id"), ("time", "severity", "message", "traceId"),
         ("@timestamp", "log.level", "message", "trace.id"), ("timestamp", "lvl", "event", "request_id"))
_PINO: Mapping[Level, int] = {"debug": 20, "info": 30, "warn": 40, "error": 50, "fatal": 60}
_SYSLOG: Mapping[Level, int] = {"debug": 7, "info": 6, "warn": 4, "error": 3, "fatal": 2}
_BRACKET: Mapping[Level, str] = {"debug": "DEBUG1", "info": "LOG", "warn": "WARNING", "error": "ERROR",
                                 "fatal": "FATAL"}
_LONG: Mapping[Level, str] = {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR",
                              "fatal": "CRITICAL"}
_ERROR_LOG: Mapping[Level, str] = {"debug": "debug", "info": "notice", "warn": "warn", "error": "error",
                                   "fatal": "crit"}
_CLASSES = ("Handler", "Client", "Pool", "Session", "Router", "Store", "Scheduler", "Consumer", "Repository")
_ROOTS, _LEAVES = ("com.acme", "net.corp", "org.works", "io.inhouse"), ("core", "app", "svc", "job", "base")
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64)", "okhttp/4.12.0", "python-requests/2.32.3", "Mozilla/5.0 (iPhone)")


class Pen:
    """Writes the records of one service. `write` gives the physical lines of a record, `channel` the file's suffix."""

    def __init__(self, service: Service) -> None:
        self.service, self.style = service, service.style
        self.clock = Clock(service.style, service.offset_s, service.zone_min)
        rng = Random(f"pen {service.style} {service.role} {service.version}")
        self.keys, self.pino = _KEYS[int(rng.random() * len(_KEYS))], rng.random() < 0.3
        self.nested, self.shuffled = rng.random() < 0.5, rng.random() < 0.3
        self.pid, self.facility = 300 + int(rng.random() * 30000), 1 + int(rng.random() * 20)
        root, leaf = _ROOTS[int(rng.random() * len(_ROOTS))], _LEAVES[int(rng.random() * len(_LEAVES))]
        self.package = f"{root}.{leaf}"
        self._form: Callable[[Emission, str], list[str]] = getattr(self, f"_{self.style}")

    def write(self, one: Emission) -> list[str]:
        """The physical lines of a record, without line ends."""
        return self._form(one, self.clock.stamp(one.at))

    def channel(self, one: Emission) -> str:
        """Where the service writes this record: `access` and `error` for access logs, "" for the others."""
        if self.style != "access":
            return ""
        return "access" if "method" in one.fields else "error"

    def channels(self) -> tuple[str, ...]:
        """All that `channel` may give."""
        return ("access", "error") if self.style == "access" else ("",)

    def _host(self, one: Emission) -> str:
        hosts = self.service.hosts
        return hosts[hash_of(one.at) % len(hosts)]

    def _class(self, one: Emission) -> str:
        return _CLASSES[(len(one.text) + self.pid) % len(_CLASSES)]

    def _json(self, one: Emission, stamp: str) -> list[str]:
        time, level, message, trace = self.keys
        pairs: list[tuple[str, Value]] = [
            (time, stamp), (level, _PINO[one.level] if self.pino else one.level), ("host", self._host(one)),
            (message, one.text), *one.fields.items()]
        if one.trace:
            pairs.append((trace, one.trace))
        if one.fault:
            pairs.append(("stack", "\n".join(java_trace(one, self.package))))
        if self.shuffled:
            turn = hash_of(one.at) % len(pairs)
            pairs = pairs[turn:] + pairs[:turn]
        return [json.dumps(dict(pairs), ensure_ascii=False)]

    def _logfmt(self, one: Emission, stamp: str) -> list[str]:
        trace = f" trace={one.trace}" if one.trace else ""
        fault = f" err={one.fault}" if one.fault else ""
        return [f"ts={stamp} level={one.level} host={self._host(one)} msg={_quoted(one.text)}{trace}"
                f"{_pairs(one)}{fault}"]

    def _syslog3164(self, one: Emission, stamp: str) -> list[str]:
        priority = f"<{self.facility * 8 + _SYSLOG[one.level]}>" if self.nested else ""
        word = "" if one.level == "info" else f"{one.level}: "
        return [f"{priority}{stamp} {self._host(one)} {self.service.name}[{self.pid}]: {word}{one.text}{_pairs(one)}"]

    def _syslog5424(self, one: Emission, stamp: str) -> list[str]:
        told = {**one.fields, "trace": one.trace} if one.trace else one.fields
        structured = "[meta@32473 " + " ".join(f'{k}="{v}"' for k, v in told.items()) + "]" if told else "-"
        priority, host = self.facility * 8 + _SYSLOG[one.level], self._host(one)
        return [f"<{priority}>1 {stamp} {host} {self.service.name} {self.pid} - {structured} {one.text}"]

    def _access(self, one: Emission, stamp: str) -> list[str]:
        get = one.fields.get
        if "method" in one.fields:
            agent = _AGENTS[hash_of(one.at) % len(_AGENTS)]
            return [f'{get("ip", "-")} - - [{stamp}] "{get("method")} {get("path")} HTTP/1.1" {get("status")} '
                    f'{get("bytes", 0)} "-" "{agent}" {int(get("ms", 0)) / 1000:.3f}']
        day = self.clock.stamp(one.at)
        return [f"[{day}] [{_ERROR_LOG[one.level]}] {self.pid}#0: {one.text}{_pairs(one)}"]

    def _java(self, one: Emission, stamp: str) -> list[str]:
        thread = f"[worker-{hash_of(one.at) % 16}]" if not one.trace else f"[{one.trace[:8]}]"
        head = f"{stamp} {one.level.upper():5s} {thread} {self.package}.{self._class(one)} - {one.text}{_pairs(one)}"
        return [head, *(java_trace(one, self.package) if one.fault else ())]

    def _python(self, one: Emission, stamp: str) -> list[str]:
        trace = f" [{one.trace}]" if one.trace else ""
        head = f"{stamp} {_LONG[one.level]} {self.package.rpartition('.')[2]}.{self._class(one).lower()}{trace}: " \
               f"{one.text}{_pairs(one)}"
        return [head, *(python_trace(one, self.package) if one.fault else ())]

    def _cri(self, one: Emission, stamp: str) -> list[str]:
        stream = "stderr" if one.stream == "stderr" or one.level in ("error", "fatal") else "stdout"
        trace = f" trace={one.trace}" if one.trace else ""
        inner = f"{one.level.upper()} {one.text}{_pairs(one)}{trace}"
        if self.nested:
            inner = json.dumps({"level": one.level, "msg": one.text, **one.fields,
                                **({"trace": one.trace} if one.trace else {})}, ensure_ascii=False)
        pieces = [inner[i:i + MOST_PARTIAL] for i in range(0, len(inner), MOST_PARTIAL)]
        lines = [f"{stamp} {stream} {'F' if i == len(pieces) - 1 else 'P'} {piece}" for i, piece in enumerate(pieces)]
        return lines + [f"{stamp} {stream} F {line}" for line in (go_trace(one, self.package) if one.fault else ())]

    def _epoch(self, one: Emission, stamp: str) -> list[str]:
        head = f"{stamp} {one.level.upper()} {one.text}{_pairs(one)}"
        return [head, *(f"    {line.strip()}" for line in (java_trace(one, self.package)[:3] if one.fault else ()))]

    def _bracket(self, one: Emission, stamp: str) -> list[str]:
        head = f"{stamp} [{self.pid + hash_of(one.at) % 40}] {_BRACKET[one.level]}:  {one.text}{_pairs(one)}"
        return [head, *([f"\tCONTEXT:  {one.fault}"] if one.fault else ())]

    def _klog(self, one: Emission, stamp: str) -> list[str]:
        file = f"{self._class(one).lower()}.go:{40 + len(one.text) * 7 % 400}"
        head = f"{one.level[0].upper()}{stamp} {self.pid:7d} {file}] {one.text}{_pairs(one)}"
        return [head, *(go_trace(one, self.package) if one.fault else ())]


def hash_of(at: float) -> int:
    """A small number that is spread evenly and depends on the time alone, so that writing takes no draws."""
    return (round(at * 1e6) * 2654435761 >> 7) & 0xFFFF


def _pairs(one: Emission) -> str:
    return "".join(f" {key}={_quoted(value)}" for key, value in one.fields.items()) if one.fields else ""


def _quoted(value: Value) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text or '"' in text or "=" in text else text
