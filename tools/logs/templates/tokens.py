"""A shape cut into elements: what may be a slot, what may not, and the key under which shapes are compared.

A shape is a message whose numbers are `0`. Its elements are words, names, values and signs. A value (what holds a
number, a path, a quotation, what follows `=`) is a slot whatever it says; a list of values, a repeated group of them
and a size in brackets (`(1.4 KB)`) count as one value or none, so that lists of different lengths are one template.
What is left of an envelope, `[thread] a.b.Logger: ` or `program.exe - `, is no element: who speaks makes no statement.
Names (with dots, dashes, capitals) and words after joining words (`for`, `by`) are soft: a few different ones make a
slot. Plain words are hard: it takes more. Outcome words never become a slot.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from enlist.tools.logs.templates.keys import CUT, WORD
from enlist.tools.logs.templates.words import BEFORE_NAMES, CALENDAR, NO_WORDS, outcome_in

SLOT = "\0"

_TOKEN = re.compile(
    rf"""(?P<word>[A-Za-z]+)(?=\s|$)
    | (?P<cut>{CUT})
    | (?P<url>[A-Za-z][\w+.-]*://[^\s,;()<>\[\]{{}}"']+)
    | (?P<quote>"(?:[^"\\]|\\.){{0,400}}"|(?<!\w)'[^']{{0,200}}'(?!\w))
    | (?P<drive>[A-Za-z]:\\[^\s,;()<>\[\]{{}}"']*)
    | (?P<name>(?:[<>]=?(?=0[\w.]*(?:[\s,;)]|$)))?[^\s,;=()<>\[\]{{}}"'|{CUT}]+(?:'[a-z]+)?)
    | (?P<sign>\S)""",
    re.VERBOSE,
)
_REQUEST = re.compile('"[A-Z]{3,10} ')
_EMPTY = re.compile(r"[^\w)\]]\(\)|.\[\]", re.S)
_TAIL = re.compile(r"[:.!?]+$|[_-]{4,}$")
_LEADER = re.compile(r"(?<=\w)(?:\.{3,}|_{4,}|-{4,})(?=\w)")
_PATH = re.compile(r"[~.]{0,2}/|[^/]*/[^/]*/|\\|[^\\]*\\[^\\]*\\|[^@]+@.")
_SPEAKER = re.compile(r"(?:\[[^\]]{1,300}\]\s+(?:[\w$-]+\.)+[\w$-]+:\s+|[\w-]+[._-][\w.-]+(?:\s\S*0\S*)?\s-\s+)(?=\S)")
_UNIT = re.compile(
    r"(?:[kmgtp]?i?b(?:/s)?|bytes?|[mnu]?s(?:ecs?|econds?)?|min(?:ute)?s?|hours?|hrs?|days?|%|milli(?:second)?s)$",
    re.I,
)
_ANNOTATION = re.compile(r"\(\s*[<>~]?0(?:[.,]0)*\s*(?:[A-Za-z%/]{1,7})?\s*\)")
_DOTTED = re.compile(r"(?:[\w$-]+\.)+[\w$-]+$")
_NAMED = re.compile(r".+[._$#@&+/\\:~*-].|.*[a-z][A-Z]|[A-Z][A-Z_]+$", re.S)
_LETTERS = re.compile("[A-Za-z]{2,}")
_SIGN, _VALUE, _OUTCOME, _NO_WORD, _DOTS, _NAME, _PLAIN = range(7)
_LONGEST_GROUP = 6
_LONGEST_VALUE = 300


class Element(NamedTuple):
    """One element of a shape: the text it compares by (`SLOT` for a value), whether it is soft, and where it stands."""

    key: str
    soft: bool
    start: int
    end: int


def elements(shape: str) -> list[Element]:
    """The elements of a shape, in order; none covers space, signs at the ends of words, and sizes in brackets."""
    found = collapsed(_raw(shape))
    if not any(_LETTERS.search(e.key) for e in found):
        # Nothing but values: then what they begin with is all that tells statements apart.
        found = [
            Element(SLOT + begin[0], False, e.start, e.end) if begin and e.key == SLOT else e
            for e in _raw(shape)
            for begin in [_LETTERS.match(shape, e.start, e.end)]
        ]
    return found


def _raw(shape: str) -> list[Element]:
    out: list[Element] = []
    notes = [found.span() for found in _ANNOTATION.finditer(shape)] if "(" in shape else []
    speaker = _SPEAKER.match(shape)
    at, before, end = speaker.end() if speaker else 0, "", len(shape)
    while at < end:
        if notes and at >= notes[0][0]:
            at = max(at, notes.pop(0)[1])
            continue
        found = _TOKEN.search(shape, at, notes[0][0] if notes else end)
        if not found:
            at = notes[0][0] if notes else end
            continue
        kind, text, start, at = found.lastgroup, found[0], found.start(), found.end()
        if kind == "quote":
            if _REQUEST.match(text):
                at = start + 1
                out.append(Element(text[0], False, start, at))
            elif shape.startswith(":", at) or outcome_in(text[1:-1]):
                out.append(Element(text, False, start, at))
            else:
                out.append(Element(SLOT, False, start, at))
        elif kind == "sign":
            out.append(Element(text, False, start, at))
            if (text == "=" and (at == end or shape[at] in " ,;)]}")) or _EMPTY.match(shape, start - 1):
                out.append(Element(SLOT, False, at, at))
        elif kind in ("word", "name"):
            word = text
            if not text.isalpha():
                if split := _LEADER.search(text):  # dots that lead to a value end a word
                    text, at = text[: split.end()], start + split.end()
                tail = _TAIL.search(text)
                word = text[: tail.start()] if tail and tail.start() else text
            if out and out[-1].key == "=" and out[-1].end == start and (close := _closing(shape, at)):
                out.append(Element(SLOT, False, start, close))
                at = close
                continue
            out.append(_named(word, start, out, before, shape))
            before = word.lower()
            continue
        else:
            out.append(Element(SLOT, False, start, at))
        before = text
    return out


def _closing(shape: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`; 0 where there is none."""
    depth = 0
    for end in range(at, min(len(shape), at + _LONGEST_VALUE)):
        depth += (shape[end] in "{[(") - (shape[end] in "}])")
        if depth <= 0:
            return end + 1 if end > at else 0
    return 0


def _named(word: str, start: int, out: list[Element], before: str, shape: str) -> Element:
    end = start + len(word)
    form = _form(word)
    if form in (_SIGN, _VALUE):
        return Element(word if form == _SIGN else SLOT, False, start, end)
    if not out or form == _OUTCOME:
        return Element(word, False, start, end)
    at = start - 1
    while at > 0 and shape[at].isspace():
        at -= 1
    told = shape[at]
    # Early in a line, before a colon, a dotted name is the place in a program that speaks.
    dotted = form == _DOTS and (len(out) > 2 or not shape.startswith(":", end))
    no_word = form == _NO_WORD and (told in "=:,([" or before in ("is", "was", "to", "from"))
    if told == "=" or dotted or no_word:
        return Element(SLOT, False, start, end)
    alone = told in "([" and shape[end : end + 1] in (")", "]")
    return Element(word, alone or form in (_NAME, _DOTS) or before in BEFORE_NAMES, start, end)


@lru_cache(maxsize=1 << 16)
def _form(word: str) -> int:
    """What a word is by itself."""
    if WORD in word:
        return _VALUE
    if not any(map(str.isalnum, word)):
        return _SIGN
    if "0" in word or word in CALENDAR or _PATH.match(word):
        return _VALUE
    if outcome_in(word):
        return _OUTCOME
    if word.lower() in NO_WORDS:
        return _NO_WORD
    if _DOTTED.match(word):
        return _DOTS
    return _NAME if _NAMED.match(word) else _PLAIN


def collapsed(given: list[Element]) -> list[Element]:
    """Runs of values, with units and between commas, as one value; groups that repeat themselves once."""
    out: list[Element] = []
    for e in given:
        last = out[-1].key if out else ""
        if e.key == SLOT and last == SLOT:
            out[-1] = Element(SLOT, False, out[-1].start, e.end)
        elif e.key == SLOT and last in (",", ";") and len(out) > 1 and out[-2].key == SLOT:
            out.pop()
            out[-1] = Element(SLOT, False, out[-1].start, e.end)
        elif last == SLOT and _UNIT.match(e.key):
            out[-1] = Element(SLOT, False, out[-1].start, e.end)
        else:
            out.append(e)
    return _once(_listed(out))


def _listed(given: list[Element]) -> list[Element]:
    """Three or more single words between commas are a list, and a list is a value."""
    commas = [n for n, e in enumerate(given) if e.key == ","]
    at = 0
    while at < len(commas):
        last = at
        while last + 1 < len(commas) and commas[last + 1] == commas[last] + 2:
            last += 1
        begin, end = commas[at] - 1, commas[last] + 1
        items = given[begin : end + 1 : 2] if begin >= 0 and end < len(given) else []
        if last > at and items and not any(outcome_in(item.key) for item in items):
            whole = Element(SLOT, False, given[begin].start, given[end].end)
            return [*given[:begin], whole, *_listed(given[end + 1 :])]
        at = last + 1
    return given


def _once(given: list[Element]) -> list[Element]:
    """Groups of elements with a value in them that follow each other: the first stands for all."""
    keys = [e.key for e in given]
    if keys.count(SLOT) < 2:
        return given
    size = 2
    while size <= min(_LONGEST_GROUP, len(keys) // 2):
        at = 0
        while at + 2 * size <= len(keys):
            group = keys[at : at + size]
            if SLOT in group and keys[at + size : at + 2 * size] == group:
                stop = at + 2 * size
                while keys[stop : stop + size] == group:
                    stop += size
                last = given[at + size - 1]
                group_end = Element(last.key, last.soft, last.start, given[stop - 1].end)
                given = [*given[: at + size - 1], group_end, *given[stop:]]
                keys = [e.key for e in given]
            at += 1
        size += 1
    return given
