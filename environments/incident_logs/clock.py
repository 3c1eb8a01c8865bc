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

    Whole seconds are formatted once and kept, as most records follow closely on one another.
    """

    def __init__(self, style: str, offset_s: float, zone_min: int) -> None:
        self.offset_us = round(offset_s * 1e6)
        self.zone = timezone(timedelta(minutes=zone_min)) if style in STATES_ZONE and zone_min else UTC
        sign = "-" if zone_min < 0 else "+"
        colon = f"{sign}{abs(zone_min) // 60:02d}:{abs(zone_min) % 60:02d}"
        self.suffix = colon if self.zone is not UTC else "Z"
        self.compact = self.suffix.replace(":", "") if self.zone is not UTC else "+0000"
        self._form = _FORMS[style]
        self._second, self._when = -1, datetime.fromtimestamp(0, UTC)

    def stamp(self, at: float) -> str:
        """True time `at` as this service writes it."""
        micros = round(at * 1e6) + self.offset_us
        second, fraction = divmod(micros, 1_000_000)
        if second != self._second:
            self._second, self._when = second, datetime.fromtimestamp(second, self.zone)
        return self._form(self, self._when, fraction)


def _iso_ms(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S}.{fraction // 1000:03d}{clock.suffix}"


def _iso_us(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S}.{fraction:06d}{clock.suffix}"


def _iso_ns(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%S}.{fraction:06d}{(fraction * 7919) % 1000:03d}{clock.suffix}"


def _comma(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S},{fraction // 1000:03d}"


def _bracket(clock: Clock, when: datetime, fraction: int) -> str:
    zone = "UTC" if clock.suffix == "Z" else clock.suffix
    return f"{when:%Y-%m-%d %H:%M:%S}.{fraction // 1000:03d} {zone}"


def _month_day(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{_MONTHS[when.month - 1]} {when.day:2d} {when:%H:%M:%S}"


def _klog(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{when:%m%d %H:%M:%S}.{fraction:06d}"


def _access(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{when.day:02d}/{_MONTHS[when.month - 1]}/{when:%Y:%H:%M:%S} {clock.compact}"


def _epoch(clock: Clock, when: datetime, fraction: int) -> str:
    return f"{int(when.timestamp()) * 1000 + fraction // 1000}"


_FORMS: Mapping[str, Callable[[Clock, datetime, int], str]] = {
    "json": _iso_ms, "logfmt": _iso_ms, "syslog3164": _month_day, "syslog5424": _iso_us, "access": _access,
    "java": _comma, "python": _comma, "cri": _iso_ns, "epoch": _epoch, "bracket": _bracket, "klog": _klog}
