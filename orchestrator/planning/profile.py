"""Profiles: capabilities made ready for routing, their terms as stems and all the words that their field uses.

What no capability serves has a profile too (`elsewhere`), with terms, words and example requests of its own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from enlist.orchestrator.capabilities import Capability, elsewhere
from enlist.orchestrator.planning.language import FUNCTION_WORDS
from enlist.orchestrator.planning.lexicon import Vocabulary, stems
from enlist.orchestrator.planning.likeness import Examples, is_han

ELSEWHERE = "elsewhere"
_EXAMPLES = Path(__file__).with_name("examples.yaml")
_FIELDS = Path(__file__).with_name("vocabulary.yaml")
_COMMON = Path(__file__).with_name("common.txt")
COMMON, HAN = 0.5, 0.3
"""What an everyday word, and a single character of a script without spaces, count against a word of the field."""

_STOP = frozenset(stems(
    "a an the of in on to for from with by at as is are be was were it its this that these those my our your me we i "
    "you and or not no do does did can could would should will what which who how when where why have has had there "
    "than into out over under so if but about please need want get make give tell any some all each very more most "
    "just"))
_PARTICLES = frozenset("的了是我你他在有和不这个们吗把给请中里上下也就都会能要从对到用并一"
                       "のをはがにでともてしたするかないま")
_SILENT = _STOP | frozenset(stem for word in FUNCTION_WORDS for stem in stems(word)) | _PARTICLES
"""What says nothing of what is asked for."""


@dataclass(frozen=True)
class Term:
    """A term made ready: its parts as stems, all of which must be present; `heads` are the first stem of each."""

    text: str
    weight: float
    parts: tuple[tuple[str, ...], ...]
    heads: frozenset[str]


@dataclass(frozen=True)
class Profile:
    """A capability as routing sees it; `by_head` finds the terms (by their place in `terms`) that begin with a stem,
    `words` are the stems of its field."""

    id: str
    terms: tuple[Term, ...]
    words: frozenset[str]
    lures: tuple[tuple[str, ...], ...] = ()
    reads: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    not_yet: tuple[tuple[str, tuple[Term, ...]], ...] = ()
    by_head: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Lexicon:
    """All profiles with the vocabulary over them; `elsewhere` is what no capability serves, `examples` are its own."""

    profiles: tuple[Profile, ...]
    elsewhere: Profile
    vocabulary: Vocabulary
    examples: Examples
    readers: Mapping[str, int]


def profiles(capabilities: Iterable[Capability]) -> Lexicon:
    """The lexicon of these capabilities; made once for the same objects."""
    return _build(tuple(_Key(c) for c in capabilities))


def example_requests(capabilities: Iterable[Capability]) -> dict[str, tuple[str, ...]]:
    """Example requests by capability, and of `elsewhere`."""
    read = _read(_EXAMPLES)
    return {c.id: (*c.phrases, c.asks, *read.get(c.id, ())) for c in capabilities} | {ELSEWHERE: tuple(read[ELSEWHERE])}


class _Key:
    """A capability compared by identity, so that prepared lexica are found without hashing all terms."""

    def __init__(self, capability: Capability) -> None:
        self.capability = capability

    def __hash__(self) -> int:
        return id(self.capability)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.capability is self.capability


@lru_cache(maxsize=8)
def _build(keys: tuple[_Key, ...]) -> Lexicon:
    given = [key.capability for key in keys]
    requests = {name: [stems(x) for x in texts] for name, texts in example_requests(given).items()}
    outside = requests.pop(ELSEWHERE)
    made = []
    for c in given:
        terms = _terms(c.terms)
        made.append(Profile(
            id=c.id, terms=terms, words=_words(c.id, terms, requests[c.id]), by_head=_by_head(terms), reads=c.reads,
            lures=tuple(sorted((stems(x) for x in c.looks_like if stems(x)), key=lambda s: (-len(s), s))),
            beside=c.companions,
            not_yet=tuple((reason, _terms({1.0: wishes})) for reason, wishes in c.not_yet.items())))
    claimed = {t.parts for p in made for t in p.terms if t.weight > 1}
    unserved = tuple(t for t in _terms(elsewhere()) if t.parts not in claimed)
    decisive = {t.parts[0][0] for p in made for t in p.terms if t.weight >= 3 and len(t.parts) == len(t.parts[0]) == 1}
    other = Profile(id=ELSEWHERE, terms=unserved, words=_words(ELSEWHERE, (), outside) - decisive,
                    by_head=_by_head(unserved))
    known = {w for p in (*made, other) for t in p.terms for part in t.parts for w in part} | _SILENT | _common()
    known |= {w for p in (*made, other) for w in p.words} | {w for p in made for lure in p.lures for w in lure}
    known |= {w for p in made for _, wishes in p.not_yet for t in wishes for part in t.parts for w in part}
    others = (request for those in requests.values() for request in those)
    examples = Examples(outside, others, lambda stem: 0.0 if stem in decisive else worth(stem))
    return Lexicon(tuple(made), other, Vocabulary(known), examples,
                   Counter(kind for p in made for kind in p.reads))


def worth(stem: str) -> float:
    """What a stem counts where words are counted: 1 for words of a field, less for everyday ones, 0 for those that say
    nothing, as numbers do."""
    if stem in _SILENT or stem.isdecimal():
        return 0.0
    if is_han(stem):
        return HAN
    return 0.0 if len(stem) < 2 else COMMON if stem in _common() else 1.0


def _words(id: str, terms: Iterable[Term], requests: Iterable[Iterable[str]]) -> frozenset[str]:
    found = {w for term in terms for part in term.parts for w in part} | {w for request in requests for w in request}
    return frozenset(w for w in found | set(stems(_read(_FIELDS).get(id, ""))) if worth(w))


@cache
def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    return found


@cache
def _common() -> frozenset[str]:
    """The stems of everyday English words."""
    return frozenset(stems(_COMMON.read_text("utf-8")))


def _by_head(terms: Iterable[Term]) -> Mapping[str, tuple[int, ...]]:
    """Each term under one of its heads: a term is present only where that stem is."""
    found: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        found.setdefault(min(term.heads), []).append(place)
    return {head: tuple(places) for head, places in found.items()}


def _terms(by_weight: Mapping[float, tuple[str, ...]]) -> tuple[Term, ...]:
    """Terms with words in them, heaviest first."""
    terms = []
    for weight, texts in sorted(by_weight.items(), reverse=True):
        for text in texts:
            parts = tuple(stems(part) for part in text.split(" + "))
            if all(parts):
                terms.append(Term(text, weight, parts, frozenset(part[0] for part in parts)))
    return tuple(terms)
