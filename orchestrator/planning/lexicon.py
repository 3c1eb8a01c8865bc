"""Words as the planner compares them: folded, stemmed, and mended where one letter is wrong.

Folding takes case, compatibility forms and accents away (Unicode NFKC, then combining marks dropped). The stemmer is
light: it joins "optimise", "optimizing" and "optimization", and leaves other languages nearly alone. Scripts written
without spaces (Han, kana) become one token per character, so a term of three characters is a phrase of three tokens.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from enlist.orchestrator.planning.devices import find_devices

MAX_CHARACTERS = 20_000
"""Longer texts are read at their two ends: what is asked stands there, and work stays bounded."""
MIN_MENDED = 5
"""Shorter words have too many true neighbours at one letter's distance to be mended."""

_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(rf"[{_HAN}]|(?:(?![{_HAN}])[^\W_])+")
_BREAK = re.compile(r"[.!?;:,\n\r\u3002\uff0c\uff01\uff1f\uff1b]+(?=\s|$|[\u3000-\u9fff])")
_NEGATED = re.compile(
    r"\b(?:no need to|not asking (?:for|about)|not interested in|instead of|rather than|not about|nothing to do with"
    r"|(?:do not|don'?t) (?:want|need|bother|care)|(?:^|(?<=[.;!?] ))(?:do not|don'?t|never))\b[^.,;:!?\n]*", re.I)
_FORMULA = re.compile(r"=\s?[A-Z]{2,}[A-Z0-9.]*\(|\$?\b[A-Z]{1,2}\$?\d{1,5}:\$?[A-Z]{1,2}\$?\d{1,5}\b")
_DURATION = re.compile(r"\b\d+(?:[.,]\d+)? ?(?:ms|us|µs|μs|milliseconds?|microseconds?|tok(?:en)?s?/s)(?!\w)")


@dataclass(frozen=True)
class Token:
    """A word of a text: its stem, the word as written (folded) and the number of the clause it stands in."""

    stem: str
    word: str
    clause: int


def ends(text: str, limit: int = MAX_CHARACTERS) -> str:
    """`text`, or its first three quarters and last quarter of `limit` characters, joined by a line break."""
    if len(text) <= limit:
        return text
    return text[: limit * 3 // 4] + "\n" + text[-limit // 4:]


def fold(text: str) -> str:
    """`text` without case, compatibility forms, accents and typographic apostrophes."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The light stem of a folded word."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("ion") and len(word) > 6:
        word = word[:-3]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    for ending, joined in (("isat", "iz"), ("izat", "iz"), ("is", "iz")):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)] + joined
    return word


def tokens(text: str) -> list[Token]:
    """The tokens of a text, in order, without words that the text says it does not ask for."""
    found: list[Token] = []
    plain = fold(_marked(ends(text)))
    for number, clause in enumerate(_BREAK.split(_NEGATED.sub(" ", plain))):
        found += [Token(stem(m), m, number) for m in _TOKEN.findall(clause.replace("'s ", " ").replace("'", ""))]
    return found


def _marked(text: str) -> str:
    """`text` with words beside the things that have a form and no fixed spelling: devices, durations, formulas."""
    for device in reversed(list(find_devices(text))):
        text = f"{text[: device.end()]} devicename {text[device.end():]}"
    text = _FORMULA.sub(" formulatext ", text)
    return _DURATION.sub(r"\g<0> durationtext ", text)


def stems(text: str) -> tuple[str, ...]:
    """The stems of a term."""
    return tuple(stem(m) for m in _TOKEN.findall(fold(text).replace("'s ", " ").replace("'", "")))


class Vocabulary:
    """Known stems, and the known stem that an unknown word was meant to be.

    Two words are one letter apart where deleting at most one letter from each gives the same string (symmetric
    deletion, as in SymSpell), which takes insertions, deletions, substitutions and swapped neighbours alike.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self.known = frozenset(known)
        self._deletions: dict[str, str] = {}
        for entry in sorted(self.known):
            if len(entry) >= MIN_MENDED:
                for shorter in _without_one(entry):
                    self._deletions.setdefault(shorter, entry)

    def mend(self, word: str) -> str:
        """The known stem at one letter's distance with the same first letter, else `word` itself."""
        if word in self.known or not MIN_MENDED <= len(word) <= 24:
            return word
        for shorter in _without_one(word):
            meant = self._deletions.get(shorter)
            if meant is not None and meant[0] == word[0]:
                return meant
        return word


def _without_one(word: str) -> Iterator[str]:
    yield word
    for i in range(len(word)):
        yield word[:i] + word[i + 1:]
