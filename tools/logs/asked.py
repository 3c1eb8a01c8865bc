"""What people write for times: instants and offsets of zones."""

import re

from enlist.tools.logs.clock.forms import FORMS
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.runtime.errors import EnlistError

_HOUR = 3600 * 1_000_000_000
_SHORT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?(Z|[+-]\d\d:?\d\d)?")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)")


def instant(text: str | None, offset: int = 0) -> int | None:
    """Nanoseconds since the epoch of a time in any form that logs use, or a date, or a date with hours and minutes.

    Args:
        offset: seconds east of UTC of a time that names no zone.

    Raises:
        EnlistError: `bad_input` where it is no time.
    """
    if text is None:
        return None
    whole = text.strip()
    if short := _SHORT.fullmatch(whole):
        whole = f"{short[1]}T{short[2] or '00:00'}:00{short[3] or ''}"
    for form in FORMS:
        match = re.fullmatch(f"(?P<stamp>{form.pattern})", whole)
        if match and (got := Clock(offset=offset).read(match, form)):
            return got[0]
    raise EnlistError("bad_input", "is no time", given=text, allowed="2026-03-04T05:06:07Z, 2026-03-04 05:06, an epoch")


def hour_around(text: str, offset: int) -> tuple[int, int]:
    """An hour on both sides of a time."""
    middle = instant(text, offset)
    assert middle is not None
    return middle - _HOUR, middle + _HOUR


def seconds_east(zone: str) -> int:
    """Seconds east of UTC of an offset like +05:30.

    Raises:
        EnlistError: `bad_input` where it is none.
    """
    if zone.upper() in ("Z", "UTC"):
        return 0
    match = _ZONE.fullmatch(zone)
    if match is None or int(match[2]) > 14 or int(match[3]) > 59:
        raise EnlistError("bad_input", "is no offset of a zone", given=zone, allowed="+05:30, -08:00, UTC")
    seconds = int(match[2]) * 3600 + int(match[3]) * 60
    return -seconds if match[1] == "-" else seconds
