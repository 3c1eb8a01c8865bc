"""Plain lines: a time stamp somewhere near the begin, level, thread, logger or tag in any of the usual orders, a
message.

A source keeps to its way of writing, so the layout that served the last line is tried first; lines of one layout are
taken apart many at once.
"""

import re
from collections.abc import Sequence
from functools import cache

from enlist.tools.logs.clock.forms import FORMS, Form
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.levels import BARE, WORDS, level, of_priority
from enlist.tools.logs.framing.piece import Piece

_OPEN = r"(?:<(?P<pri>\d{1,3})>)?[\[(<\"']{0,2}"
_BEFORE = r"(?P<pre>(?:\S{1,64}[ \t]+){0,5}?[\[(<]?)"
_STARTS = [(f, re.compile(rf"{_OPEN}(?P<stamp>{f.pattern})")) for f in FORMS]
_INSIDE = [(f, re.compile(rf"{_BEFORE}(?P<stamp>{f.pattern})")) for f in FORMS if f.name != "clock"]
_ANY = "|".join(sorted(WORDS, key=len, reverse=True))


def _level(n: int) -> str:
    """A word in brackets, which may be a level, or a word that is one."""
    return (rf"(?:[\[(<](?:[a-z0-9_]{{1,30}}:)?(?P<l{n}>[A-Za-z]{{1,13}})\s*[\])>]"
            rf"|(?=[A-Z])(?P<b{n}>{BARE}|Info|Warning|Warn|Error|Debug)(?=[\s:|,\]-]|$))")


_GAP = r"[\s\])>,:;|-]*+"
_HEAD = (
    rf"{_GAP}(?:\d{{1,10}}\s++(?:\d{{1,10}}\s++)?)?(?:{_level(1)}{_GAP})?(?:\d{{1,10}}\s++-++\s++)?"
    rf"(?:(?:\[(?![A-Za-z]{{1,13}}\s*\])[^\[\]]{{1,120}}+\]|\([^()]{{1,60}}+\)){_GAP}){{0,4}}"
    rf"(?:{_level(2)}{_GAP})?"
    r"(?:(?P<logger>(?:[A-Za-z_$][\w$-]*+[./])++[\w$-]++(?:\[\d+\])?(?::\d+)?|[\w.$/-]++(?=\s-\s))(?:\s*:\s|\s-\s|\s\|\s))?"
    rf"(?:{_level(3)}{_GAP})?")
_TAG = (rf"(?:\s+(?!(?:{BARE}|Info|Warning|Warn|Error|Debug)\s)(?P<host>[\w.:-]+)\s+"
        r"(?P<tag>[^\s:\[]{1,64})(?:\[(?P<pid>[^\]]{1,20})\])?:\s?)?")
_TAGGED = ("syslog", "iso")
_BARE_HEAD = re.compile(rf"(?:[\[(<](?P<l1>(?i:{_ANY}))\s*[\])>]|(?P<b1>{BARE})(?=[\s:|,\]-]|$))[\s:|-]+")


class Layout:
    """A form of time at a place in the line, and what stands around it: one pattern for the whole envelope."""

    def __init__(self, form: Form, inside: bool) -> None:
        self.form = form
        begin = _BEFORE if inside else _OPEN
        tag = _TAG if form.name in _TAGGED and not inside else ""
        self.pattern = re.compile(rf"{begin}(?P<stamp>{form.pattern}){tag}{_HEAD}")
        at = self.pattern.groupindex
        self.tag, self.before, self.priority = (at.get(n, 0) for n in ("tag", "pre", "pri"))
        self.stamp = at["stamp"]
        self.levels = tuple(at[n] for n in ("l1", "b1", "l2", "b2", "l3", "b3"))
        self._graded: dict[tuple[str | None, ...], str] = {}

    def level(self, match: re.Match[str]) -> str:
        """The level in an envelope."""
        said = match.group(*self.levels)
        known = self._graded.get(said)
        if known is None:
            known = self._graded[said] = next((found for word in said if word and (found := level(word))), "")
        if known:
            return known
        if self.before and (before := match[self.before]):
            return next((found for w in before.split() if (found := level(w.strip("[]():,")))), "")
        if self.priority and (priority := match[self.priority]):
            return of_priority(priority)
        return level(match[self.stamp][0]) if self.form.name == "letter-day" else ""

    def grades(self, matches: Sequence[re.Match[str]]) -> list[str]:
        """The level of each."""
        known = self._graded.get
        return [known(match.group(*self.levels)) or self.level(match) for match in matches]

    def message(self, match: re.Match[str]) -> str:
        """What follows the envelope; where nothing does, what follows the time."""
        text = match.string
        return text[match.end():] or text[match.end(self.stamp):].strip() or text


@cache
def _layout(form: Form, inside: bool) -> Layout:
    return Layout(form, inside)


class Plain:
    """Reads the plain lines of one source."""

    def __init__(self) -> None:
        self.layout: Layout | None = None

    def again(self, text: str, clock: Clock) -> Piece | None:
        """The line taken apart as the last one was; None where it is written in another way."""
        layout = self.layout
        if layout is None or not (match := layout.pattern.match(text)) or not (time := clock.read(match, layout.form)):
            return None
        service = match[layout.tag] if layout.tag else None
        return Piece(layout.message(match), *time, layout.level(match), service or "")

    def read(self, text: str, clock: Clock) -> Piece | None:
        """The line taken apart; None where it holds no time stamp."""
        if piece := self.again(text, clock):
            return piece
        if not any(c.isdigit() for c in text[:160]):
            return None
        for inside, forms in enumerate((_STARTS, _INSIDE)):
            for form, pattern in forms:
                match = pattern.match(text[:240])
                if match and clock.read(match, form):
                    self.layout = _layout(form, bool(inside))
                    return self.again(text, clock)
        return None

    def many(self, texts: Sequence[str]) -> list[re.Match[str] | None]:
        """The lines as the last one is written; None for those that are written in another way."""
        return [None] * len(texts) if self.layout is None else list(map(self.layout.pattern.match, texts))


def untimed(text: str) -> Piece:
    """A line without a time; a level at its begin is taken off."""
    match = _BARE_HEAD.match(text)
    if not match:
        return Piece(text)
    return Piece(text[match.end():], level=level(match["l1"] or match["b1"]))
