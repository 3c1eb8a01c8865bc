"""Lines that name their parts: JSON, logfmt, access logs, container lines, syslog.

Each reader takes a line and gives a `Piece`, or None where the line is not of its kind. Keys are recognised by the
words that writers of structured logs use for time, level, message and service; all other keys are fields.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from enlist.tools.logs.batch import TimeKind
from enlist.tools.logs.clock.forms import BY_NAME, FORMS
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.levels import level, of_priority
from enlist.tools.logs.framing.piece import Piece

TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "t", "datetime", "date", "eventtime", "__realtime_timestamp",
             "asctime", "created", "@t", "timemillis", "instant", "_source_realtime_timestamp", "when", "at")
MESSAGE_KEYS = ("message", "msg", "log", "event", "body", "text", "@m", "textpayload", "short_message", "description",
                "@mt")
LEVEL_KEYS = ("level", "severity", "lvl", "levelname", "log.level", "loglevel", "priority", "@l", "severitytext", "l")
SERVICE_KEYS = ("service", "service.name", "app", "application", "syslog_identifier", "_systemd_unit", "component",
                "container_name", "container", "program", "appname", "svc", "unit")
STREAM_KEYS = ("stream",)
_UNKNOWN: tuple[int | None, TimeKind] = (None, "none")
_STAMPS = [(f, re.compile(rf"(?P<stamp>{f.pattern})")) for f in FORMS]
_PAIR = re.compile(r'([A-Za-z_@][\w.@/-]*)=(?:"((?:[^"\\]|\\.)*)"|(\S*))(?:\s+|$)')
_ESCAPED = re.compile(r'\\(.)')
_ACCESS = re.compile(
    rf'(?P<client>\S+) \S+ (?P<user>\S+) \[(?P<stamp>{BY_NAME["access"].pattern})\] '
    r'(?P<message>"(?:(?P<method>[A-Z]{3,10}) )?(?P<path>[^" ]*)[^"]*" (?P<status>\d{3}) (?P<bytes>\d+|-).*)')
_CRI = re.compile(rf"(?P<stamp>{BY_NAME['iso'].pattern}) (?P<stream>stdout|stderr) (?P<flag>[PF])(?::\S+)? ?"
                  r"(?P<rest>.*)")
_SYSLOG_5424 = re.compile(
    rf"<(?P<pri>\d{{1,3}})>1 (?P<stamp>{BY_NAME['iso'].pattern}|-) (?P<host>\S+) (?P<app>\S+) (?P<pid>\S+) (?P<id>\S+) "
    r'(?P<sd>-|(?:\[(?:[^"\]\\]|"(?:[^"\\]|\\.)*"|\\.)*\])+) ?(?:\ufeff)?(?P<rest>.*)')
_SD = re.compile(r'([^\s=\[\]"]+)="((?:[^"\\]|\\.)*)"')


def stamp(text: str, clock: Clock) -> tuple[int, TimeKind] | None:
    """The time that a whole field states, in any form."""
    for form, pattern in _STAMPS:
        if (match := pattern.fullmatch(text)) and (got := clock.read(match, form)):
            return got
    return None


def from_json(text: str, clock: Clock) -> Piece | None:
    """A JSON object on one line. Nested objects become dotted keys; a lone `log` key with a stream is a container's
    line."""
    if not text.startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    fields = dict(sorted(flat(data).items()))
    piece = of_fields(fields, clock)
    if set(data) <= {"log", "stream", "time", "attrs"} and isinstance(data.get("log"), str):
        body = str(data["log"])
        piece.message, piece.cut, piece.inner, piece.fields = body.rstrip("\r\n"), not body.endswith("\n"), True, None
    return piece


def flat(data: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Nested objects as one level of dotted keys, values as text."""
    out: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, dict) and value and depth < 6:
            out.update(flat(value, f"{prefix}{key}.", depth + 1))
        else:
            out[prefix + key] = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return out


def of_fields(fields: Mapping[str, str], clock: Clock) -> Piece:
    """A record out of named fields; where none is its message, the other fields in order are."""
    lower = {key.lower(): key for key in fields}

    def take(keys: tuple[str, ...]) -> str:
        return next((fields[lower[k]] for k in keys if k in lower and fields[lower[k]] != ""), "")

    time, how = stamp(take(TIME_KEYS), clock) or _UNKNOWN
    known = {*TIME_KEYS, *MESSAGE_KEYS, *LEVEL_KEYS, *SERVICE_KEYS, *STREAM_KEYS}
    rest = {k: v for k, v in fields.items() if k.lower() not in known}
    message = take(MESSAGE_KEYS) or " ".join(f"{k}={v}" for k, v in rest.items())
    return Piece(message, time, how, level(take(LEVEL_KEYS)), take(SERVICE_KEYS), take(STREAM_KEYS), rest)


def as_fields(text: str) -> dict[str, str] | None:
    """The keys and values of a line of JSON or logfmt; None where it is neither."""
    if not text.startswith("{"):
        return pairs(text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return dict(sorted(flat(data).items())) if isinstance(data, dict) else None


def pairs(text: str) -> dict[str, str] | None:
    """`key=value key="quoted value"`, nothing else on the line, at least two pairs; sorted by key."""
    fields: dict[str, str] = {}
    at = 0
    while match := _PAIR.match(text, at):
        quoted = match[2]
        fields[match[1]] = match[3] or "" if quoted is None else _ESCAPED.sub(r"\1", quoted)
        at = match.end()
    if at < len(text.rstrip()) or len(fields) < 2:
        return None
    return dict(sorted(fields.items()))


def from_logfmt(text: str, clock: Clock) -> Piece | None:
    """A line of `pairs`."""
    fields = pairs(text)
    return None if fields is None else of_fields(fields, clock)


def from_access(text: str, clock: Clock) -> Piece | None:
    """A line of a web server's access log, common or combined."""
    match = _ACCESS.match(text)
    if not match or not (time := clock.read(match, BY_NAME["access"])):
        return None
    status = match["status"]
    grade = "error" if status[0] == "5" else "info"
    names = ("client", "user", "method", "path", "status", "bytes")
    return Piece(match["message"], *time, level=grade, fields={n: match[n] for n in names if match[n]})


def from_container(text: str, clock: Clock) -> Piece | None:
    """`TIME stdout|stderr P|F text`, as container runtimes write; P: the rest of the line is in the next of the
    stream."""
    match = _CRI.match(text)
    if not match or not (time := clock.read(match, BY_NAME["iso"])):
        return None
    return Piece(match["rest"], *time, stream=match["stream"], inner=True, cut=match["flag"] == "P")


def from_syslog(text: str, clock: Clock) -> Piece | None:
    """RFC 5424; the older form has no marks of its own and is read as plain text."""
    match = _SYSLOG_5424.match(text)
    if not match or int(match["pri"]) > 191:
        return None
    time, how = (clock.read(match, BY_NAME["iso"]) if match["stamp"] != "-" else None) or _UNKNOWN
    fields = {k: _ESCAPED.sub(r"\1", v) for k, v in sorted(_SD.findall(match["sd"]))}
    fields.update({n: match[n] for n in ("host", "pid", "id") if match[n] != "-"})
    app = match["app"]
    return Piece(match["rest"], time, how, of_priority(match["pri"]), "" if app == "-" else app, fields=fields)
