"""Profiles: capabilities made ready for routing, their terms as stems and their words weighed by rarity."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log

from enlist.orchestrator.capabilities import Capability, elsewhere
from enlist.orchestrator.planning.lexicon import Vocabulary, stems

_STOP = frozenset(stems(
    "a an the of in on to for from with by at as is are be was were it its this that these those my our your me we i "
    "you and or not no do does did can could would should will what which who how when where why have has had there "
    "than into out over under so if but about please need want get make give tell any some all each very more most "
    "just"))


@dataclass(frozen=True)
class Term:
    """A term made ready: its parts as stems, all of which must be present; `heads` are the first stem of each."""

    text: str
    weight: float
    parts: tuple[tuple[str, ...], ...]
    heads: frozenset[str]


@dataclass(frozen=True)
class Profile:
    """A capability as routing sees it."""

    id: str
    terms: tuple[Term, ...]
    lures: tuple[tuple[str, ...], ...]
    phrases: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    reads: tuple[str, ...]
    not_yet: tuple[tuple[str, tuple[Term, ...]], ...] = ()


@dataclass(frozen=True)
class Lexicon:
    """All profiles with the vocabulary and word weights over them; `elsewhere` is what no capability serves."""

    profiles: tuple[Profile, ...]
    elsewhere: Profile
    vocabulary: Vocabulary
    rarity: Mapping[str, float]
    users: Mapping[str, int]
    readers: Mapping[str, int]


def profiles(capabilities: Iterable[Capability]) -> Lexicon:
    """The lexicon of these capabilities; made once for the same objects."""
    return _build(tuple(_Key(c) for c in capabilities))


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
    made = []
    for capability in (key.capability for key in keys):
        phrases = tuple(tuple(sorted(set(stems(phrase)) - _STOP)) for phrase in (*capability.phrases, capability.asks))
        terms = _terms(capability.terms)
        made.append(Profile(
            id=capability.id, terms=terms, words=_words(terms, phrases),
            lures=tuple(sorted((stems(x) for x in capability.looks_like if stems(x)), key=lambda s: (-len(s), s))),
            phrases=tuple(p for p in phrases if p), reads=capability.reads,
            not_yet=tuple((reason, _terms({1.0: wishes})) for reason, wishes in capability.not_yet.items())))
    claimed = {t.parts for p in made for t in p.terms if t.weight > 1}
    unserved = tuple(t for t in _terms(elsewhere()) if t.parts not in claimed)
    other = Profile(id="elsewhere", terms=unserved, lures=(), phrases=(), words=frozenset(), reads=())
    seen = Counter(w for p in made for w in {w for phrase in p.phrases for w in phrase})
    known = {w for p in (*made, other) for t in p.terms for part in t.parts for w in part} | set(seen) | _STOP
    known |= {w for p in made for lure in p.lures for w in lure}
    known |= {w for p in made for _, wishes in p.not_yet for t in wishes for part in t.parts for w in part}
    return Lexicon(tuple(made), other, Vocabulary(known),
                   {w: log((1 + len(made)) / n) for w, n in seen.items()},
                   Counter(w for p in made for w in p.words),
                   Counter(kind for p in made for kind in p.reads))


def _terms(by_weight: Mapping[float, tuple[str, ...]]) -> tuple[Term, ...]:
    """Terms with words in them, heaviest first."""
    terms = []
    for weight, texts in sorted(by_weight.items(), reverse=True):
        for text in texts:
            parts = tuple(stems(part) for part in text.split(" + "))
            if all(parts):
                terms.append(Term(text, weight, parts, frozenset(part[0] for part in parts)))
    return tuple(terms)



def _words(terms: Iterable[Term], phrases: Iterable[Iterable[str]]) -> frozenset[str]:
    """All words that a capability's terms and example requests use, but for those that say nothing."""
    used = {w for term in terms for part in term.parts for w in part} | {w for phrase in phrases for w in phrase}
    return frozenset(w for w in used - _STOP if len(w) > 2)
