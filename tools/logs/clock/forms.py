"""The ways in which programs write a point in time.

A form is a pattern with named parts. What a form leaves out (zone, year, date) is decided by `reader`, from context. A
form of digits alone (epochs) is only taken where its value is between 1995 and 2100. Where day and month cannot be
told apart (01/02/2026), the source decides: a number above 12 anywhere settles it, else the month comes first.
"""

import re
from dataclasses import dataclass

MONTHS = {name: n for n, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}
_TIME = r"(?P<H>[01]?\d|2[0-3]):(?P<M>[0-5]\d):(?P<S>[0-5]\d|60)"
_FRACTION = r"(?:[.,:](?P<f>\d{1,9}))?"
_ZONE = r"(?:\s?(?P<z>Z|UTC|GMT|[+-](?:0\d|1[0-4]):?[0-5]\d)\b|(?P<zh>[+-](?:0\d|1[0-4]))(?!\d|[-:.]))?"
_MONTH = r"(?P<b>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_YEAR = r"(?P<Y>(?:19|20)\d\d)"
_MM, _DD = r"(?P<m>0?[1-9]|1[0-2])", r"(?P<d>0?[1-9]|[12]\d|3[01])"


@dataclass(frozen=True, slots=True)
class Form:
    """A way of writing a time: its pattern (no anchors) and whether it holds a year."""

    name: str
    pattern: str
    dated: bool = True
    year: bool = True


FORMS = (
    Form("iso", rf"{_YEAR}-(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])[T _-]{_TIME}{_FRACTION}{_ZONE}"),
    Form("iso-dots", rf"{_YEAR}-(?P<m>\d\d)-(?P<d>\d\d)-"
                     rf"(?P<H>[01]\d|2[0-3])\.(?P<M>[0-5]\d)\.(?P<S>[0-5]\d){_FRACTION}"),
    Form("slashes", rf"{_YEAR}[/.]{_MM}[/.]{_DD}[T ,_-]\s?{_TIME}{_FRACTION}{_ZONE}"),
    Form("access", rf"{_DD}/{_MONTH}/{_YEAR}:{_TIME}{_FRACTION}(?:\s(?P<z>[+-]\d{{4}}))?"),
    Form("mail", rf"(?:{_WEEKDAY},?\s)?{_DD}[ -]{_MONTH}[ -]{_YEAR}[ ,T]\s?{_TIME}{_FRACTION}{_ZONE}"),
    Form("asctime", rf"{_WEEKDAY}\s{_MONTH}\s+{_DD}\s{_TIME}{_FRACTION}"
                    rf"(?:\s(?P<z>UTC|GMT|[+-]\d{{4}}))?(?:\s[A-Z]{{3,4}})?\s{_YEAR}"),
    Form("named", rf"{_MONTH}\s+{_DD},?\s{_YEAR},?\s{_TIME}{_FRACTION}(?:\s?(?P<p>[AaPp][Mm]))?{_ZONE}"),
    Form("syslog", rf"{_MONTH}\s{{1,2}}{_DD}\s{_TIME}{_FRACTION}(?:\s{_YEAR})?", year=False),
    Form("either", rf"(?P<one>\d{{1,2}})[/.-](?P<two>\d{{1,2}})[/.-]{_YEAR}[ ,T]\s?{_TIME}{_FRACTION}"
                   rf"(?:\s?(?P<p>[AaPp][Mm]))?{_ZONE}"),
    Form("compact", rf"{_YEAR}(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])[T _-]?"
                    rf"(?P<H>[01]\d|2[0-3]):?(?P<M>[0-5]\d):?(?P<S>[0-5]\d){_FRACTION}(?P<z>Z|[+-]\d\d:?\d\d)?(?!\d)"),
    Form("short-year", rf"(?P<y>\d\d)[/-]?(?P<m>0[1-9]|1[0-2])[/-]?(?P<d>0[1-9]|[12]\d|3[01])[ T]"
                       rf"(?P<H>[01]\d|2[0-3]):?(?P<M>[0-5]\d):?(?P<S>[0-5]\d){_FRACTION}(?![\d:])"),
    Form("month-day", rf"(?P<m>0[1-9]|1[0-2])[-./](?P<d>0[1-9]|[12]\d|3[01])[ T]{_TIME}{_FRACTION}", year=False),
    Form("letter-day", rf"[IWEFDV](?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])\s{_TIME}{_FRACTION}", year=False),
    Form("epoch", r"(?P<e>(?:[89]\d{8}|[1-3]\d{9}|4[01]\d{8})(?:\d{3}|\d{6}|\d{9})?)(?:\.(?P<f>\d{1,9}))?(?![\d.:])"),
    Form("clock", rf"{_TIME}{_FRACTION}(?![\d:])", dated=False, year=False),
)
BY_NAME = {form.name: form for form in FORMS}
COMPILED = {form.name: re.compile(form.pattern) for form in FORMS}
