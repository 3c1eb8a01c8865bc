"""Matched time stamps into nanoseconds: per source, because what a stamp leaves out is the same throughout a source.

A year that is not written is that of the file's last change, or the year before where this would lie after it; it goes
up when the month falls from the end of the year to its begin, and a late line of December keeps the old year. The 29th
of February moves the guess to a leap year. A zone that is not written is the one given (UTC if none), and the record
says so.
"""

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from enlist.tools.logs.batch import TimeKind
from enlist.tools.logs.clock.forms import MONTHS, Form

_DAY = 86_400
_NS = 1_000_000_000
_AHEAD = 2 * _DAY  # clocks and zones may make a line younger than its file
_CACHED = 100_000
_TENS = [10 ** (9 - digits) for digits in range(10)]


def days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar; ValueError where there is no such day."""
    return datetime(year, month, day).toordinal() - 719_163


class Clock:
    """The times of one source.

    Args:
        modified: when the source was last written, seconds since the epoch; None: now.
        offset: seconds east of UTC that a stamp without zone is in.
        day_first: of 01/02/2026; None: found out.
    """

    def __init__(self, modified: float | None = None, offset: int = 0, day_first: bool | None = None) -> None:
        self.modified = time.time() if modified is None else modified
        self.offset, self.day_first = offset, day_first
        self.year: int | None = None
        self.month = 0
        self.today: int | None = None  # of sources that write no date
        self.last_second = 0
        self._known: dict[str, tuple[int, TimeKind]] = {}

    def read(self, match: re.Match[str], form: Form) -> tuple[int, TimeKind] | None:
        """(ns since the epoch, how it is known) of a stamp that matched a form; None where it is no real time."""
        start, end = match.span("stamp")
        text = match.string
        at, until = match.span("f") if "f" in match.re.groupindex else (-1, -1)
        key = text[start:end] if at < 0 else text[start:at - 1] + text[until:end]
        known = self._known.get(key)
        if known is None:
            try:
                known = self._seconds(match.groupdict(), form)
            except (ValueError, OverflowError):
                return None
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[key] = known
        if at < 0:
            return known
        digits = text[at:until]
        return known[0] + int(digits) * 10 ** (9 - len(digits)), known[1]

    def many(self, matches: Sequence[re.Match[str] | None], form: Form) -> list[tuple[int, TimeKind]]:
        """The times of stamps in one form, up to the first that is no real time."""
        out: list[tuple[int, TimeKind]] = []
        first = matches[0] if matches else None
        if first is None:
            return out
        stamp, fraction = (first.re.groupindex.get(name, 0) for name in ("stamp", "f"))
        known = self._known.get
        for match in matches:
            if match is None:
                break
            start, end = match.span(stamp)
            at, until = match.span(fraction) if fraction else (-1, -1)
            text = match.string
            whole = known(text[start:end] if at < 0 else text[start:at - 1] + text[until:end])
            got = self.read(match, form) if whole is None else whole if at < 0 else (
                whole[0] + int(text[at:until]) * _TENS[until - at], whole[1])
            if got is None:
                break
            out.append(got)
        return out

    def _seconds(self, part: dict[str, str | None], form: Form) -> tuple[int, TimeKind]:
        if epoch := part.get("e"):
            return int(epoch) * 10 ** (19 - len(epoch) - (len(epoch) % 3 == 0)), "stated"
        second = self._of_day(part)
        zone = _zone(part)
        offset = self.offset if zone is None else zone
        how: TimeKind = "zone-assumed" if zone is None else "stated"
        if not form.dated:
            return (self._on_a_day(second) * _DAY + second - offset) * _NS, "year-inferred"
        month, day = self._month_and_day(part)
        if year := part.get("Y"):
            number = int(year)
        elif year := part.get("y"):
            number = 2000 + int(year)
        else:
            number, how = self._guess(month, day), "year-inferred"
        return (days(number, month, day) * _DAY + second - offset) * _NS, how

    def _of_day(self, part: dict[str, str | None]) -> int:
        hour = int(part["H"] or 0)
        if half := part.get("p"):
            if hour > 12:
                raise ValueError("no such hour")
            hour = hour % 12 + (12 if half in ("PM", "pm", "Pm", "pM") else 0)
        return hour * 3600 + int(part["M"] or 0) * 60 + int(part["S"] or 0)

    def _month_and_day(self, part: dict[str, str | None]) -> tuple[int, int]:
        if name := part.get("b"):
            return MONTHS[name.lower()], int(part["d"] or 0)
        if one := part.get("one"):
            first, second = int(one), int(part["two"] or 0)
            if first > 12 or second > 12:
                self.day_first = first > 12
            return (second, first) if self.day_first else (first, second)
        return int(part["m"] or 0), int(part["d"] or 0)

    def _guess(self, month: int, day: int) -> int:
        if self.year is None:
            self.year = datetime.fromtimestamp(self.modified, UTC).year
            if days(self.year, month, min(day, 28)) * _DAY > self.modified + _AHEAD:
                self.year -= 1
            self.month = month
        elif month <= 3 and self.month >= 10:
            self.year += 1
            self.month = month
            self._known.clear()
        elif month >= 10 and self.month <= 3:
            return self.year - 1
        else:
            self.month = max(month, self.month)
        if (month, day) == (2, 29):
            while not _leap(self.year):
                self.year -= 1
        return self.year

    def _on_a_day(self, second: int) -> int:
        if self.today is None:
            whole, left = divmod(int(self.modified + self.offset), _DAY)
            self.today = whole if second <= left + 3600 else whole - 1
        elif second < self.last_second - _DAY // 2:
            self.today += 1
            self._known.clear()
        self.last_second = second
        return self.today


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _zone(part: dict[str, str | None]) -> int | None:
    text = part.get("z") or part.get("zh")
    if not text:
        return None
    if text[0] not in "+-":
        return 0
    digits = text[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60
    return -seconds if text[0] == "-" else seconds
