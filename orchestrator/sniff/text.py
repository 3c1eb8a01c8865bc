"""Text: logs by their times and levels, tables by their separators, markup by its marks, all else as prose."""

import json
import re
from collections import Counter

from enlist.orchestrator.sniff.found import Sniffed

LINES = 200
"""Lines that are looked at."""
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|ALERT|EMERG)"
_LOG_LINE = re.compile(
    r"^\W{0,3}(?:"
    r"\d{4}[-/.]\d\d[-/.]\d\d[T _]\d\d:\d\d"  # ISO 8601 and kin
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d "  # RFC 3164 syslog
    r"|<\d{1,3}>(?:1 \d{4}-|\w{3} )"  # syslog with its priority
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ "  # glog
    r"|\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "  # Android
    r"|\[ *\d+\.\d{6}\] "  # kernel ring buffer
    r"|\d{2}/\d{2}/\d{2,4}[ ,]+\d\d:\d\d:\d\d"
    r"|\d{2}:\d{2}:\d{2}[.,]\d{3}"
    r"|1[0-9]{9}(?:\.\d+|\d{3})? "  # seconds or milliseconds since 1970
    rf"|\[?{_LEVEL}\]?[ :|])"
    r"|^\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]")  # Common Log Format
_LOG_KEYS = {"time", "timestamp", "ts", "@timestamp", "level", "severity", "msg", "message", "asctime", "levelname"}
_TIMED_COLUMN = re.compile(r"(?:latency|duration|elapsed|runtime|time)[ _(\[]*(?:ns|us|µs|ms|sec|seconds|s)\b"
                           r"|^(?:latency|duration|step_time|kernel_time)$", re.I)


def decode(data: bytes) -> str | None:
    """The text in `data`, or None where it is none: UTF-8 (cut anywhere), UTF-16 with its mark, else Latin-1."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data[: len(data) // 2 * 2].decode("utf-16", "replace")
    if b"\x00" in data:
        return None
    for shorter in range(4):  # the cut may fall inside a character
        try:
            text = data[: len(data) - shorter].decode("utf-8-sig")
        except UnicodeDecodeError:
            continue
        odd = sum(c < " " and c not in "\t\n\r\f\x1b" for c in text)
        return text if odd * 50 <= len(text) and text else None
    printable = sum(32 <= b < 127 or b in b"\t\n\r" or b >= 160 for b in data)
    ascii_share = sum(32 <= b < 127 or b in b"\t\n\r" for b in data) / len(data)
    return data.decode("latin-1") if printable == len(data) and ascii_share > 0.7 else None


def sniff_text(text: str, name: str, cut: bool) -> Sniffed:
    """The kinds of a text that is neither code nor a structured document."""
    lines = [line for line in text.splitlines()[: LINES + 1] if line.strip()]
    if cut and len(lines) > 1 and len(lines) <= LINES:
        lines = lines[:-1]
    return _log(lines, name) or _marked(text, lines) or _table(lines, name) or _prose(text, name)


def _log(lines: list[str], name: str) -> Sniffed | None:
    records = [r for r in map(_record, lines) if r is not None]
    if records and len(records) * 2 >= len(lines):
        if sum(bool(_LOG_KEYS & r.keys()) for r in records) * 2 >= len(records):
            return Sniffed(("log",), "application/jsonl")
        return Sniffed(("table",), "application/jsonl")
    hits = sum(bool(_LOG_LINE.match(line)) for line in lines)
    by_name = name.lower().endswith((".log", ".out", ".err"))
    separated = _separator(lines[:20]) is not None and not by_name
    # A stack trace may follow each event, so a fifth of the lines is enough; a table of dated rows is a table.
    if hits and (hits * 5 >= len(lines) if hits > 1 else by_name or len(lines) == 1) and not separated:
        return Sniffed(("log",), "text/x-log")
    return None


def _record(line: str) -> dict[str, object] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _marked(text: str, lines: list[str]) -> Sniffed | None:
    head = text[:400].lstrip().lower()
    if head.startswith(("<!doctype html", "<html")):
        return Sniffed(("document",), "text/html")
    if head.startswith("##title=") or "##jcamp" in head:
        return Sniffed(("spectrum",), "chemical/x-jcamp-dx")
    if "<graphml" in head:
        return Sniffed(("graphs",), "application/graphml+xml")
    if re.search(r"V[23]000\s*$", "\n".join(lines[:5]), re.M):
        return Sniffed(("graphs",), "chemical/x-mdl-molfile")
    marks = sum(bool(re.match(r"#{1,6} \S|```|[-*] \S|\|.*\|$|> \S", line)) for line in lines)
    if any(re.match(r"#{1,6} \S", line) for line in lines) and marks >= 2:
        return Sniffed(("document", "text"), "text/markdown")
    return None


def _table(lines: list[str], name: str) -> Sniffed | None:
    separator = _separator(lines[:20])
    if separator is None:
        return None
    header = [cell.strip().strip('"') for cell in lines[0].split(separator)]
    media_type = "text/tab-separated-values" if separator == "\t" else "text/csv"
    if any(_TIMED_COLUMN.search(cell) for cell in header):
        return Sniffed(("timings", "table"), media_type)
    return Sniffed(("table",), media_type)


def _separator(lines: list[str]) -> str | None:
    """The character that splits all lines into equally many cells, two or more; quoted cells may hold it."""
    if len(lines) < 2:
        return None
    for separator in ("\t", ",", ";", "|"):
        counts = Counter(re.sub(r'"[^"]*"', "", line).count(separator) for line in lines)
        count, agreeing = counts.most_common(1)[0]
        prose = separator == "," and sum(", " in line for line in lines) * 2 > len(lines)
        if count >= 1 and agreeing * 10 >= len(lines) * 9 and not prose:
            return separator
    return None


def _prose(text: str, name: str) -> Sniffed:
    if name.lower().endswith((".md", ".markdown")):
        return Sniffed(("document", "text"), "text/markdown")
    if name.lower().endswith((".csv", ".tsv")) and len(text.splitlines()) >= 1 and ("," in text or "\t" in text):
        return Sniffed(("table",), "text/csv", "one row or uneven rows")
    return Sniffed(("document", "text"), "text/plain")
