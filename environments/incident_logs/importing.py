"""SLS-Bench problems, read without knowing their fields.

The benchmark's `problems.jsonl` has one problem per line; what its fields are called is not known here. The reader
looks at the shape of values: a long text with many lines, or a list or mapping of texts, is the logs; a field called
`summary`, `reference` or `expected` holds what is to be said. It tells which it took, so that a wrong guess is seen.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError

_TRUTHS = ("reference_summary", "reference", "expected", "ground_truth", "gold", "summary", "answer", "target")
_IDS = ("id", "problem_id", "task_id", "incident_id", "name", "uid")
_LOGS = ("logs", "log", "streams", "stream", "input", "context", "problem", "prompt", "text")
FEWEST_LINES = 5


@dataclass(frozen=True)
class Problem:
    """One problem: log files by name, the reference as text, and which field each was found in (`""`: nowhere).
    `other` are the names of the fields that nothing was taken from."""

    id: str
    files: dict[str, str]
    reference: str
    found: dict[str, str]
    other: tuple[str, ...]


def problems(path: Path) -> Iterator[Problem]:
    """The problems of a file of JSON lines.

    Raises:
        EnlistError: `not_found` for no such file, `bad_input` for a line that is no JSON object, or that holds nothing
            that looks like logs; it names the fields that there are.
    """
    if not path.is_file():
        raise EnlistError("not_found", "there is no such file", given=str(path), allowed="a file of JSON lines",
                          fix="download problems.jsonl of SLS-Bench and give its path")
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _problem(line, number)


def _problem(line: str, number: int) -> Problem:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise EnlistError("bad_input", f"line {number} is no JSON", given=line[:80], allowed="one JSON object a line",
                          fix=str(error)) from error
    if not isinstance(data, dict):
        raise EnlistError("bad_input", f"line {number} is no JSON object", given=type(data).__name__,
                          allowed="one JSON object a line", fix="give the file as it was published")
    flat = dict(_flat(data))
    truth = _by_name(flat, _TRUTHS, str)
    logs = next((name for name in sorted(flat, key=_likely(_LOGS)) if name != truth and _files(name, flat[name])), "")
    if not logs:
        raise EnlistError("bad_input", f"nothing in line {number} looks like logs",
                          given=", ".join(f"{k} ({type(v).__name__})" for k, v in flat.items()) or "an empty object",
                          allowed=f"a text of {FEWEST_LINES} lines or more, or a list or mapping of texts",
                          fix="rename the field that holds the logs to `logs`")
    name = _by_name(flat, _IDS, (str, int))
    return Problem(
        str(flat[name]) if name else f"problem-{number}", _files(logs, flat[logs]), str(flat[truth]) if truth else "",
        {"id": name, "logs": logs, "reference": truth}, tuple(k for k in flat if k not in (name, logs, truth)))


def _flat(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Fields by dotted name; mappings of names to log texts stay whole."""
    for key, value in data.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, dict) and not _files(name, value):
            yield from _flat(value, name)
        else:
            yield name, value


def _files(name: str, value: Any) -> dict[str, str]:
    """Texts by name of file, or nothing where the value does not look like logs."""
    if isinstance(value, str):
        return {f"{name.rpartition('.')[2]}.log": value} if value.count("\n") + 1 >= FEWEST_LINES else {}
    if isinstance(value, dict):
        parts = {str(key): found for key, inner in value.items() if (found := _text(inner))}
        return {key if "." in key else f"{key}.log": text for key, text in parts.items()} if (
            parts and len(parts) == len(value)) else {}
    if isinstance(value, list) and len(value) >= FEWEST_LINES and all(isinstance(v, str | dict) for v in value):
        lines = [v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in value]
        return {f"{name.rpartition('.')[2]}.log": "\n".join(lines)}
    return {}


def _text(value: Any) -> str:
    if isinstance(value, str) and value.count("\n") + 1 >= FEWEST_LINES:
        return value
    if isinstance(value, list) and len(value) >= FEWEST_LINES and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return ""


def _by_name(flat: Mapping[str, Any], wanted: tuple[str, ...], kind: Any) -> str:
    """The field whose last name is the first of those wanted; else one that holds a wanted name within its own."""
    for name in wanted:
        for field, value in flat.items():
            if field.rpartition(".")[2].lower() == name and isinstance(value, kind):
                return field
    return next((field for name in wanted[:-3] for field, value in flat.items()
                 if name in field.lower() and isinstance(value, kind)), "")


def _likely(names: tuple[str, ...]) -> Any:
    def rank(field: str) -> tuple[int, str]:
        last = field.rpartition(".")[2].lower()
        return (names.index(last) if last in names else len(names), field)
    return rank
