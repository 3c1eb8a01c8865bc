"""Nsight Compute's CSV (`ncu --csv`, pages "details" and "raw"): one duration for each kernel launch, in order.

On the page "details" a launch has a row for each metric, "Duration" (older: gpu__time_duration.sum) among them; on the
page "raw" it has one row, and a second header line gives the units. Lines that ncu prints around it are passed over.
"""

import csv
import io
from collections.abc import Mapping

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.profiles.activity import Activity, Profile

_DURATIONS = ("Duration", "gpu__time_duration.sum", "gpu__time_duration")
UNITS: Mapping[str, float] = {
    "ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "\N{MICRO SIGN}s": 1e-6, "ms": 1e-3, "msecond": 1e-3,
    "s": 1.0, "second": 1.0}


def is_ncu(text: str) -> bool:
    """Whether a text has the header line of ncu's CSV."""
    return any('"Kernel Name"' in line and '"ID"' in line for line in text[:65536].splitlines())


def read_ncu(text: str, name: str) -> Profile:
    """A profile from the CSV; `bad_input` where no launch has a duration."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if '"Kernel Name"' in line), 0)
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))
    column = next((c for c in _DURATIONS if rows and c in rows[0]), None)
    found: dict[str, Activity] = {}
    unit = UNITS.get((rows[0].get(column) or "").strip(), 1e-9) if column else 1e-9  # the raw page's second line
    for row in rows:
        launch = (row.get("ID") or "").strip()
        value, scale = (row.get(column), unit) if column else (row.get("Metric Value"),
                                                               UNITS.get((row.get("Metric Unit") or "").strip(), 0.0))
        if not launch.isdecimal() or (column is None and row.get("Metric Name") not in _DURATIONS):
            continue
        seconds = number(value) * scale
        if seconds > 0:
            found[launch] = Activity((row.get("Kernel Name") or "").strip(), seconds)
    if not found:
        raise EnlistError("bad_input", f"{name} has no kernel with a duration",
                          allowed="the CSV of `ncu --csv` with the metric Duration (gpu__time_duration.sum)",
                          fix="profile with `ncu --csv --section SpeedOfLight`, or --metrics gpu__time_duration.sum")
    return Profile("nsight-compute", name, tuple(found[k] for k in sorted(found, key=int)), True)


def number(text: object) -> float:
    """A number as the tools print it, with thousands apart; 0 where it is none."""
    try:
        value = float(str(text).replace(",", "").replace("'", "").strip())
    except ValueError:
        return 0.0
    return value if 0 <= value < 1e300 else 0.0
