"""Reading back the time of a written line, by rules that share nothing with how it was written.

The writer formats; this parses with patterns and the standard library, so that a fault in either shows as a difference.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache

_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d+)(Z|[+-]\d\d:\d\d)")


def decode(line: str, style: str, near: float) -> float | None:
    """The time that a line states, in seconds since the epoch UTC; None where it states none.

    A time stamp without a year is put into the year that brings it closest to `near`.
    """
    try:
        return _READERS[style](line, near)
    except (ValueError, AssertionError):
        return None


def _iso(line: str, near: float) -> float:
    found = _ISO.search(line)
    assert found is not None
    day, fraction, zone = found.groups()
    return datetime.fromisoformat(day + zone).timestamp() + float(f"0.{fraction}")


@lru_cache(maxsize=4096)
def _closest(text: str, form: str, near: float) -> float:
    middle = datetime.fromtimestamp(near, UTC).year
    found = []
    for year in (middle - 1, middle, middle + 1):
        try:
            found.append(datetime.strptime(f"{year} {text}", f"%Y {form}").replace(tzinfo=UTC).timestamp())
        except ValueError:  # 29 February
            continue
    return min(found, key=lambda at: abs(at - near))


def _month_day(line: str, near: float) -> float:
    found = re.match(r"(?:<\d+>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) ", line)
    assert found is not None
    return _closest(found[1], "%b %d %H:%M:%S", near)


def _klog(line: str, near: float) -> float:
    return _closest(line[1:14], "%m%d %H:%M:%S", near) + float(f"0.{line[15:21]}")


def _comma(line: str, near: float) -> float:
    return datetime.fromisoformat(line[:23].replace(",", ".")).replace(tzinfo=UTC).timestamp()


def _bracket(line: str, near: float) -> float:
    found = re.match(r"(\S+ \S+) (UTC|[+-]\d\d:\d\d) ", line)
    assert found is not None
    return datetime.fromisoformat(found[1] + ("+00:00" if found[2] == "UTC" else found[2])).timestamp()


def _access(line: str, near: float) -> float:
    found = re.search(r"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\]", line)
    assert found is not None
    return _whole(found[1])


@lru_cache(maxsize=4096)
def _whole(text: str) -> float:
    return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp()


def _epoch(line: str, near: float) -> float:
    return int(line.split(" ", 1)[0]) / 1000


_READERS: Mapping[str, Callable[[str, float], float]] = {
    "json": _iso, "logfmt": _iso, "syslog5424": _iso, "cri": _iso, "syslog3164": _month_day, "klog": _klog,
    "java": _comma, "python": _comma, "bracket": _bracket, "access": _access, "epoch": _epoch}
