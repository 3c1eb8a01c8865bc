"""Evidence: what speaks for a capability in a part of the text, and what speaks for none.

For a capability: its terms, each once, but for words that a phrase covers which only looks like it; the words of the
text that its field knows at all; and an attachment of a kind that few capabilities read. For `elsewhere`, what no
capability serves: terms and words of its own, likeness to example requests, and the verb with which a clause begins.
The weights come from a conditional logit model fitted to the tuning requests, rounded, in units of a term's weight.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from math import exp

from enlist.orchestrator.planning.intent import asks_elsewhere
from enlist.orchestrator.planning.lexicon import Token
from enlist.orchestrator.planning.profile import Lexicon, Profile, Term, worth

ENOUGH = 3.4
"""What the best capability has over `elsewhere` where it is asked for."""
STEEPNESS = 0.7
"""Log-odds per unit of a sum."""
WEAK_CAP = 1.5
"""Terms of weight 1 together add at most this: casual words never decide."""
FULL, BEYOND = 3.0, 0.27
"""A sum of weights counts in full up to `FULL`, one decisive term; what is beyond it counts by `BEYOND`."""
KNOWN, KNOWN_ELSEWHERE = 2.85, 1.25
"""What each word of the text counts that the capability's field knows, and one that `elsewhere` knows."""
LIKENESS = 12.0
"""What being equal to an example request of `elsewhere` counts."""
INTENT = 1.1
"""What an intent that no capability serves counts."""
KIND, UNRELATED = 1.75, -0.5
"""What an attachment counts of a kind that one or two capabilities read, and attachments that the capability cannot
read."""
POINTED = 0.5
"""What counts of `elsewhere` where a decisive term stands beside an attachment that the capability reads: people who
want a lesson attach nothing."""
MENDED = 0.5
"""What a term or a word of the field counts whose word was mended."""
TOGETHER = 30
"""The parts of one term stand within this many words of each other, else they speak of different things."""


@dataclass
class Evidence:
    """What speaks for a capability in one window: the sum over that of `elsewhere`, the words that made it, and where
    they stand; `strong` are the places of words that do more than support, `decisive` whether one of them decides
    alone, `not_yet` says what the text asks of the capability that its installed part does not answer."""

    capability: str
    total: float = 0.0
    words: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    lures: list[str] = field(default_factory=list)
    not_yet: tuple[str, ...] = ()
    places: set[int] = field(default_factory=set)
    strong: set[int] = field(default_factory=set)
    decisive: bool = False

    @property
    def first(self) -> int:
        """Where its first word stands in the text."""
        return min(self.places, default=0)

    @property
    def score(self) -> float:
        """In [0, 1], the chance that it is asked for: one half is just enough."""
        return round(1 / (1 + exp(STEEPNESS * (ENOUGH - self.total))), 4)

    @property
    def reason(self) -> str:
        """The words and kinds that matched, and the words that turned out to be something else."""
        said = [f"says {', '.join(repr(w) for w in self.words[:4])}"] if self.words else []
        said += [f"attached: {', '.join(self.kinds)}"] if self.kinds else []
        said += [f"{', '.join(repr(w) for w in self.lures)} is something else"] if self.lures else []
        said += self.not_yet
        return "; ".join(said) or "resembles an example request"


class Window:
    """Some consecutive words of the text: stems by place, the places of each stem, and which words were mended."""

    def __init__(self, placed: list[tuple[int, Token]], lexicon: Lexicon) -> None:
        self.written = {place: token.word for place, token in placed}
        self.stems = {place: lexicon.vocabulary.mend(token.stem) for place, token in placed}
        self.clauses = [[token.word for _, token in those] for _, those in groupby(placed, lambda item: item[1].clause)]
        self.mended = {place for place, token in placed if self.stems[place] != token.stem}
        self.index: dict[str, list[int]] = {}
        for place, stem in self.stems.items():
            self.index.setdefault(stem, []).append(place)

    def places(self, part: tuple[str, ...]) -> Iterator[range]:
        """Where `part` stands, in order."""
        for start in self.index.get(part[0], ()):
            if all(self.stems.get(start + i) == stem for i, stem in enumerate(part)):
                yield range(start, start + len(part))

    def present(self, term: Term, free: set[int]) -> set[int]:
        """The places of the first free occurrence of each part, or nothing where a part is absent."""
        if not self.index.keys() >= term.heads:
            return set()
        found: set[int] = set()
        for part in term.parts:
            places = next((p for p in self.places(part) if free.issuperset(p)), None)
            if places is None:
                return set()
            found.update(places)
        return found if max(found) - min(found) <= TOGETHER else set()


class View:
    """A part of the text that is judged by itself; `away` is what speaks for `elsewhere`, `beyond` what speaks for a
    capability by more than words."""

    def __init__(self, window: Window, lexicon: Lexicon, beyond: Mapping[str, float]) -> None:
        self.window, self.beyond = window, beyond
        self.away = judge(lexicon.elsewhere, window, set(), (), lexicon).total \
            + LIKENESS * lexicon.examples.likeness(list(window.stems.values())) \
            + INTENT * asks_elsewhere(window.clauses) + KNOWN_ELSEWHERE * _known(lexicon.elsewhere, window, set())

    def judged(self, left: Iterable[Profile], taken: set[int], kinds: Collection[str],
               lexicon: Lexicon) -> Iterator[Evidence]:
        """What speaks for each profile, without the words at `taken` places, and against `elsewhere`."""
        for profile in left:
            here = judge(profile, self.window, taken, kinds, lexicon)
            away = self.away * (POINTED if here.decisive and here.kinds else 1.0)
            here.total += KNOWN * _known(profile, self.window, taken) - away + self.beyond.get(profile.id, 0.0)
            yield here


def _known(profile: Profile, window: Window, taken: set[int]) -> float:
    """How many words of the window the profile's field knows, each once, weighed by what they say."""
    here = sorted(window.index.keys() & profile.words)
    return sum(worth(stem) * (MENDED if window.mended.issuperset(window.index[stem]) else 1.0)
               for stem in here if not taken.issuperset(window.index[stem]))


def judge(profile: Profile, window: Window, taken: set[int], kinds: Collection[str], lexicon: Lexicon) -> Evidence:
    """What terms and attachments say for one capability in one window, without the words at `taken` places."""
    here = Evidence(profile.id)
    free = window.stems.keys() - taken
    for lure in profile.lures:
        for covered in window.places(lure):
            free -= set(covered)
            here.lures.append(" ".join(window.written[place] for place in covered))
    weak = total = 0.0
    for number in sorted(n for head in profile.by_head.keys() & window.index.keys() for n in profile.by_head[head]):
        term = profile.terms[number]
        places = window.present(term, free)
        if not places or places <= here.places or (term.weight <= 1 and places & here.places):
            continue
        weight = term.weight * (MENDED if places & window.mended else 1.0)
        if places & here.places:
            weight /= 2  # a word that has counted once does not carry a second term in full
        if term.weight <= 1:
            weight = min(weight, WEAK_CAP - weak)
            weak += weight
        else:
            here.strong |= places
            here.decisive |= term.weight >= FULL
        total += weight
        here.words.append(term.text)
        here.places |= places
    here.total = min(total, FULL) + BEYOND * max(0.0, total - FULL)
    here.kinds = [kind for kind in profile.reads if kind in kinds]
    here.total += KIND * max((_worth_of_kind(lexicon.readers[kind]) for kind in here.kinds), default=0.0)
    if kinds and profile.reads and not here.kinds and not set(profile.beside) & set(kinds):
        here.total += UNRELATED
    return here


def _worth_of_kind(readers: int) -> float:
    """A kind that many capabilities read says little."""
    return 1.0 if readers <= 2 else 0.7 if readers <= 4 else 0.3
