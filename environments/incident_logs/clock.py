"""Times as services write them: with or without year, zone and fraction, or as a number since the epoch."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone

RESOLUTION: Mapping[str, float] = {
    "json": 1e-3, "logfmt": 1e-3, "syslog3164": 1.0, "syslog5424": 1e-6, "access": 1.0, "java": 1e-3, "python": 1e-3,
    "cri": 1e-9, "epoch": 1e-3, "bracket": 1e-3, "klog": 1e-6}
"""Seconds that a style's time stamps can tell apart."""
STATES_ZONE = frozenset(("json", "logfmt", "syslog5424", "access", "cri", "bracket"))
"""Styles whose time stamps state a zone; the others write UTC without saying so."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Clock:
    """The clock of one service: `offset_s` ahead of true time, in a zone of `zone_min` minutes.

    All but the fraction is formatted once a second and kept, as most records follow closely on one another.
    """

    def __init__(self, style: str, offset_s: float, zone_min: int) -> None:
        self.offset_us = round(offset_s * 1e6)
        self.zone = timezone(timedelta(minutes=zone_min)) if style in STATES_ZONE and zone_min else UTC
        sign = "-" if zone_min < 0 else "+"
        colon = f"{sign}{abs(zone_min) // 60:02d}:{abs(zone_min) % 60:02d}" if self.zone is not UTC else ""
        self.form, self.digits, tail = _FORMS[style]
        self.tail = tail.format(iso=colon or "Z", name=colon or "UTC", compact=colon.replace(":", "") or "+0000")
        self._second, self._head = -1, ""

    def stamp(self, at: float) -> str:
        """True time `at` as this service writes it."""
        second, fraction = divmod(round(at * 1e6) + self.offset_us, 1_000_000)
        if second != self._second:
            self._second, self._head = second, self.form(datetime.fromtimestamp(second, self.zone))
        if self.digits == 3:
            return f"{self._head}{fraction // 1000:03d}{self.tail}"
        if self.digits == 6:
            return f"{self._head}{fraction:06d}{self.tail}"
        if self.digits == 9:
            return f"{self._head}{fraction:06d}{fraction * 7919 % 1000:03d}{self.tail}"
        return f"{self._head}{self.tail}"


def _iso(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S}."


def _month_day(when: datetime) -> str:
    return f"{_MONTHS[when.month - 1]} {when.day:2d} {when:%H:%M:%S}"


def _access(when: datetime) -> str:
    return f"{when.day:02d}/{_MONTHS[when.month - 1]}/{when:%Y:%H:%M:%S} "


_FORMS: Mapping[str, tuple[Callable[[datetime], str], int, str]] = {
    "json": (_iso, 3, "{iso}"), "logfmt": (_iso, 3, "{iso}"), "syslog5424": (_iso, 6, "{iso}"),
    "cri": (_iso, 9, "{iso}"), "syslog3164": (_month_day, 0, ""), "access": (_access, 0, "{compact}"),
    "java": (lambda when: f"{when:%Y-%m-%d %H:%M:%S},", 3, ""),
    "python": (lambda when: f"{when:%Y-%m-%d %H:%M:%S},", 3, ""),
    "bracket": (lambda when: f"{when:%Y-%m-%d %H:%M:%S}.", 3, " {name}"),
    "klog": (lambda when: f"{when:%m%d %H:%M:%S}.", 6, ""), "epoch": (lambda when: str(int(when.timestamp())), 3, "")}
"""By style: all before the fraction, digits of the fraction, all after it."""
