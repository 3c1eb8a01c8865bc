"""Plain lines: a time stamp somewhere near the begin, level, thread, logger or tag in any of the usual orders, a
message.

A source keeps to its way of writing, so the form that served the last line is tried first.
"""

import re

from enlist.tools.logs.batch import TimeKind
from enlist.tools.logs.clock.forms import FORMS, Form
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.levels import BARE, WORDS, level, of_priority
from enlist.tools.logs.framing.piece import Piece

_OPEN = r"(?:<(?P<pri>\d{1,3})>)?[\[(<\"']{0,2}"
_BEFORE = r"(?P<pre>(?:\S{1,64}[ \t]+){0,5}?[\[(<]?)"
_STARTS = [(f, re.compile(rf"{_OPEN}(?P<stamp>{f.pattern})")) for f in FORMS]
_INSIDE = [(f, re.compile(rf"{_BEFORE}(?P<stamp>{f.pattern})")) for f in FORMS if f.name != "clock"]
_ANY = "|".join(sorted(WORDS, key=len, reverse=True))
_LEVEL = (rf"(?:[\[(<](?P<l{{n}}>(?i:{_ANY})|[TDIWEFCV])\s*[\])>]"
          rf"|(?P<b{{n}}>{BARE}|Info|Warning|Warn|Error|Debug)(?=[\s:|,\]-]|$))")
_GAP = r"[\s\])>,:;|-]*"
_HEAD = re.compile(
    rf"{_GAP}(?:\d{{1,10}}\s+(?:\d{{1,10}}\s+)?)?(?:{_LEVEL.format(n=1)}{_GAP})?(?:\d{{1,10}}\s+-+\s+)?"
    rf"(?:(?:\[(?!\s*(?i:{_ANY})\s*\])[^\[\]]{{1,120}}\]|\([^()]{{1,60}}\)){_GAP}){{0,4}}(?:{_LEVEL.format(n=2)}{_GAP})?"
    r"(?:(?P<logger>(?:[A-Za-z_$][\w$-]*[./])+[\w$-]+(?:\[\d+\])?(?::\d+)?|[\w.$/-]+(?=\s-\s))(?:\s*:\s|\s-\s|\s\|\s))?"
    rf"(?:{_LEVEL.format(n=3)}{_GAP})?")
_TAG = re.compile(r"\s+(?P<host>[\w.:-]+)\s+(?P<tag>[^\s:\[]{1,64})(?:\[(?P<pid>[^\]]{1,20})\])?:\s?")
_BARE_HEAD = re.compile(rf"(?:{_LEVEL.format(n=1)})[\s:|-]+")


class Plain:
    """Reads the plain lines of one source."""

    def __init__(self) -> None:
        self._last: tuple[Form, re.Pattern[str]] | None = None

    def again(self, text: str, clock: Clock) -> Piece | None:
        """The line taken apart as the last one was; None where it is written in another way."""
        if self._last is None:
            return None
        form, pattern = self._last
        match = pattern.match(text)
        return _rest(match, form, time) if match and (time := clock.read(match, form)) else None

    def read(self, text: str, clock: Clock) -> Piece | None:
        """The line taken apart; None where it holds no time stamp."""
        if piece := self.again(text, clock):
            return piece
        if not any(c.isdigit() for c in text[:160]):
            return None
        for forms in (_STARTS, _INSIDE):
            for form, pattern in forms:
                match = pattern.match(text[:240])
                if match and (time := clock.read(match, form)):
                    self._last = form, pattern
                    match = pattern.match(text)
                    return _rest(match, form, time) if match else None
        return None


def untimed(text: str) -> Piece:
    """A line without a time; a level at its begin is taken off."""
    match = _BARE_HEAD.match(text)
    if not match:
        return Piece(text)
    return Piece(text[match.end():], level=level(match["l1"] or match["b1"]))


def _rest(match: re.Match[str], form: Form, time: tuple[int, TimeKind]) -> Piece:
    text = match.string
    end = match.end()
    before = match["pre"] if "pre" in match.re.groupindex else ""
    service = grade = ""
    if "pri" in match.re.groupindex and (priority := match["pri"]):
        grade = of_priority(priority)
    if form.name == "letter-day":
        grade = level(match["stamp"][0])
    if form.name in ("syslog", "iso") and not before and (tag := _TAG.match(text, end)):
        head = _HEAD.match(text, tag.end())
        service = tag["tag"]
    else:
        head = _HEAD.match(text, end)
    assert head is not None  # every part of it may be absent
    if head.lastindex and (word := next(filter(None, head.group("l1", "b1", "l2", "b2", "l3", "b3")), None)):
        grade = level(word)
    elif before:
        grade = next((found for w in before.split() if (found := level(w.strip("[]():,")))), "")
    message = text[head.end():]
    return Piece(message or text[end:].strip() or text, *time, grade, service)
