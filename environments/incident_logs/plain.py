"""Log lines as a person with grep sees them: file, number, a level word, a time if one can be recognised.

Only the baselines use it. It knows the usual forms of time stamps and levels and nothing of the generator.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from enlist.environments.incident_logs.decoding import decode

_KEY = r"\"(?:level|lvl|severity|log\.level)\": "
_LEVEL = re.compile(rf"\b(ERROR|FATAL|CRITICAL|error|fatal|crit)\b|{_KEY}(?:50|60)\b|^E\d{{4}} ")
_WARNING = re.compile(rf"\b(WARN|WARNING|warn|warning)\b|{_KEY}40\b|^W\d{{4}} ")
_PRIORITY = re.compile(r"<(\d+)>")
_VARIABLE = re.compile(r"[0-9a-f]{8,}|/[\w./-]+|\d+")
_FORMS = (
    (re.compile(r"^\d{13} "), "epoch"), (re.compile(r"^\d{4}-\d\d-\d\d \S+,\d{3} "), "java"),
    (re.compile(r"^\d{4}-\d\d-\d\d \S+ (UTC|[+-]\d\d:\d\d) \["), "bracket"), (re.compile(r"^[DIWEF]\d{4} "), "klog"),
    (re.compile(r"\[\d\d/[A-Z][a-z]{2}/\d{4}:"), "access"),
    (re.compile(r"^(<\d+>)?[A-Z][a-z]{2} [ \d]\d \d\d:"), "syslog3164"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d"), "json"))


@dataclass(frozen=True)
class Line:
    """A line with a time: `level` is 2 for errors, 1 for warnings, else 0; `shape` is the text without what varies."""

    at: float
    service: str
    file: str
    number: int
    level: int
    text: str
    shape: str


def lines(files: Mapping[str, bytes]) -> list[Line]:
    """Every line whose time can be told, in order of time."""
    found: list[Line] = []
    late: list[tuple[str, int, str, str]] = []
    for name, data in files.items():
        forms = list(_FORMS)
        for number, text in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            place = next((i for i, (pattern, _) in enumerate(forms) if pattern.search(text[:120])), None)
            if place:  # most lines of a file have the form of the line before
                forms.insert(0, forms.pop(place))
            form = forms[0][1] if place is not None else None
            if form in ("klog", "syslog3164"):
                late.append((name, number, text, form))
            elif form is not None and (at := decode(text, form, 0.0)) is not None:
                found.append(_line(name, number, text, at))
    near = median(line.at for line in found) if found else 0.0
    for name, number, text, form in late:
        if (at := decode(text, form, near)) is not None:
            found.append(_line(name, number, text, at))
    return sorted(found, key=lambda line: (line.at, line.file, line.number))


def _line(name: str, number: int, text: str, at: float) -> Line:
    level = 2 if _LEVEL.search(text[:160]) else 1 if _WARNING.search(text[:160]) else 0
    priority = _PRIORITY.match(text)
    if priority:
        severity = int(priority[1]) % 8
        level = 2 if severity <= 3 else 1 if severity == 4 else 0
    service = re.sub(r"(-access|-error)?\.log(\.\d+)?$", "", name)
    return Line(at, service, name, number, level, text, f"{service} {_VARIABLE.sub('#', text[24:])}")
