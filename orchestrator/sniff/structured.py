"""JSON and YAML whose keys say what they are: kernel problems, profiler traces, agent cards, campaigns, graphs."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from enlist.orchestrator.sniff.found import Sniffed

_KEY = re.compile(r'"([A-Za-z_@][\w@. -]{0,40})"\s*:')
_YAML_KEY = re.compile(r"^(?:- )?([A-Za-z_][\w-]{0,40}):(?:\s|$)", re.M)
_YAML_INNER = re.compile(r"^[ -]+([A-Za-z_][\w-]{0,40}):(?:\s|$)", re.M)


def sniff_structured(text: str, name: str, cut: bool) -> Sniffed | None:
    """A JSON or YAML document whose keys are known, JSON with others, or None (JSON lines are for the log sniffer)."""
    start = text.lstrip()[:1]
    if start in "{[" and start:
        return _json(text, cut)
    top = set(_YAML_KEY.findall(text))
    if kinds := _known(top, top | set(_YAML_INNER.findall(text))):
        return Sniffed(kinds, "application/yaml")
    return None


def _json(text: str, cut: bool) -> Sniffed | None:
    try:
        value = json.loads(text)
    except RecursionError:
        return Sniffed((), "application/json", "nested too deeply")
    except ValueError:
        if not cut or _is_object_per_line(text):
            return None
        keys = set(_KEY.findall(text))  # the file goes on: its first keys must do
        kinds = _known(keys, keys)
        return Sniffed(kinds, "application/json", None if kinds else "JSON of no known form")
    if isinstance(value, dict) and "\n" not in text.strip() and {"level", "severity", "message", "msg"} & value.keys():
        return None  # one line of a log
    if isinstance(value, dict):
        keys = set(value)
        inner = {k for v in value.values() for k in _keys(v)} | keys
    else:
        keys = set()
        inner = set(_keys(value)) if isinstance(value, list) else set()
    if kinds := _known(keys, inner):
        return Sniffed(kinds, "application/json")
    if isinstance(value, list) and len(value) > 1 and inner and all(isinstance(v, dict) for v in value):
        return Sniffed(("table",), "application/json")
    return Sniffed((), "application/json", "JSON of no known form")


def _keys(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        return value.keys()
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return value[0].keys()
    return ()


def _known(top: set[str], inner: set[str]) -> tuple[str, ...]:
    """Kinds by the keys on top and those one level in."""
    rules: Sequence[tuple[bool, tuple[str, ...]]] = (
        ({"axes", "inputs", "outputs", "reference"} <= top, ("kernel-problem",)),
        ("traceEvents" in top, ("timings",)),
        ({"solvers", "environments"} <= top, ("campaign",)),
        ({"id", "specialist"} <= inner and "capabilities" in inner, ("agent-cards",)),
        ({"nodes", "edges"} <= top or {"nodes", "links"} <= top, ("graphs",)),
        ({"devices", "links"} <= top, ("topology",)),
    )
    return next((kinds for holds, kinds in rules if holds), ())


def _is_object_per_line(text: str) -> bool:
    lines = [line for line in text.splitlines()[:5] if line.strip()][:-1]
    return bool(lines) and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in lines)
