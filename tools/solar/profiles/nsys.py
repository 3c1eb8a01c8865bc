"""Nsight Systems: the SQLite export (`nsys export --type sqlite`) and the table cuda_gpu_kern_sum of `nsys stats`.

The export has every kernel with its start and end, names as ids into StringIds. Where the program ran under
`torch.autograd.profiler.emit_nvtx`, NVTX ranges on the launching thread name the operators ("aten::linear, seq = 3"); a
runtime call with the kernel's correlation id says which range it was launched in. The summary has totals by name alone.
"""

import csv
import io
import json
import re
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.profiles.activity import Activity, Profile
from enlist.tools.solar.profiles.ncu import UNITS, number

_NANO = 1e-9
SQLITE = b"SQLite format 3\x00"
_KERNEL_TABLES = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")


def read_nsys_export(path: Path, name: str) -> Profile:
    """A profile from the SQLite export; `bad_input` where it has no kernels or is damaged."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            activities = _activities(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise EnlistError("bad_input", f"{name} cannot be read as an Nsight Systems export: {error}",
                          allowed="the file of `nsys export --type sqlite`", fix="export it again") from error
    if not activities:
        raise _no_kernels(name)
    return Profile("nsight-systems", name, tuple(activities), True)


def read_nsys_summary(text: str, name: str) -> Profile:
    """A profile from `nsys stats --report cuda_gpu_kern_sum --format csv` (or json): totals by kernel name."""
    rows: Any
    if text.lstrip().startswith(("[", "{")):
        data = json.loads(text)
        rows = data if isinstance(data, list) else next((v for v in data.values() if isinstance(v, list)), [])
    else:
        lines = text.splitlines()
        first = next((n for n, line in enumerate(lines) if "Total Time" in line and "Name" in line), 0)
        rows = csv.DictReader(io.StringIO("\n".join(lines[first:])))
    found = []
    for row in rows:
        if not isinstance(row, dict):
            continue
        seconds = _seconds(row)
        if seconds > 0 and row.get("Name"):
            found.append(Activity(str(row["Name"]), seconds, max(1, int(number(row.get("Instances"))))))
    if not found:
        raise _no_kernels(name)
    return Profile("nsight-systems", name, tuple(found), True)


def _seconds(row: dict[Any, Any]) -> float:
    """The total time of a row, in the unit that its column names (`nsys stats --timeunit`), nanoseconds by default."""
    for column, value in row.items():
        named = re.fullmatch(r"Total Time(?: \((\w+)\))?", str(column).strip())
        if named is not None:
            return number(value) * UNITS.get(named[1] or "ns", 0.0)
    return 0.0


def is_nsys_summary(text: str) -> bool:
    """Whether a text looks like that table."""
    return "Total Time" in text[:65536] and "Instances" in text[:65536]


def _activities(connection: sqlite3.Connection) -> list[Activity]:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    strings = dict(connection.execute("SELECT id, value FROM StringIds")) if "StringIds" in tables else {}
    ranges, launched = _ranges(connection, tables, strings), _launches(connection, tables)
    found: list[tuple[int, Activity]] = []
    for table in _KERNEL_TABLES:
        if table not in tables:
            continue
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        label = next((c for c in ("demangledName", "shortName", "mangledName") if c in columns), None)
        correlation = "correlationId" if "correlationId" in columns else "NULL"
        for start, end, text, link in connection.execute(
                f"SELECT start, end, {label or 'NULL'}, {correlation} FROM {table}"):
            if isinstance(start, int) and isinstance(end, int) and end >= start:
                plain = strings.get(text, text) if label else f"[{table.rpartition('_')[2].lower()}]"
                chain = _chain(ranges, launched.get(link))
                found.append((start, Activity(str(plain), (end - start) * _NANO, 1, tuple(c[0] for c in chain), (),
                                              tuple(c[1] for c in chain))))
    return [activity for _, activity in sorted(found, key=lambda pair: pair[0])]


_Range = tuple[int, int, str, int]  # start, end, operator, number


def _ranges(connection: sqlite3.Connection, tables: set[str], strings: dict[Any, Any]) -> dict[Any, list[_Range]]:
    """NVTX ranges that name operators, by thread, in order of their start."""
    found: dict[Any, list[_Range]] = defaultdict(list)
    if "NVTX_EVENTS" not in tables:
        return found
    columns = {row[1] for row in connection.execute("PRAGMA table_info(NVTX_EVENTS)")}
    text_id = "textId" if "textId" in columns else "NULL"
    query = (f"SELECT start, end, text, {text_id}, globalTid FROM NVTX_EVENTS "
             "WHERE end IS NOT NULL ORDER BY start, end DESC")
    for number_, (start, end, text, key, thread) in enumerate(connection.execute(query)):
        operator = str(text or strings.get(key) or "").partition(",")[0].strip()
        if "::" in operator:
            found[thread].append((start, end, operator, number_))
    return found


def _launches(connection: sqlite3.Connection, tables: set[str]) -> dict[Any, tuple[int, Any]]:
    """When and on which thread each correlation id was launched."""
    if "CUPTI_ACTIVITY_KIND_RUNTIME" not in tables:
        return {}
    return {link: (start, thread) for start, thread, link in connection.execute(
        "SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME")}


def _chain(ranges: dict[Any, list[_Range]], launch: tuple[int, Any] | None) -> list[tuple[str, int]]:
    """The operators that enclose a launch, outermost first."""
    if launch is None or launch[1] not in ranges:
        return []
    time, many = launch[0], ranges[launch[1]]
    before = many[:bisect_right(many, time, key=lambda r: r[0])]
    return [(operator, place) for _, end, operator, place in before[-4096:] if end >= time]


def _no_kernels(name: str) -> EnlistError:
    return EnlistError("bad_input", f"{name} has no CUDA kernels", allowed="an export of a program that ran on a GPU",
                       fix="trace with `nsys profile --trace=cuda,nvtx`, then `nsys export --type sqlite`")
