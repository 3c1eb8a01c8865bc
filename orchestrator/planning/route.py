"""Routing: which capabilities a request asks for, by its words and by the kinds of what is attached.

Each capability's terms are looked for in the text. A term counts once; phrases that look like the capability and are
not cover their words first. Rare words shared with an example request add to that, other words of its vocabulary add a
little, and so does an attachment of a kind that few capabilities read. What speaks for requests that no capability
serves is taken off. Words that the best capability has claimed are taken away before the next is judged, so that one
wish is not read as two. Where the text asks for something that a capability names as not answered yet (`not_yet`),
words that only support ("H100") belong to that wish and carry no other one. A capability is asked for where its sum
reaches `ENOUGH`; else the planner declines.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from enlist.orchestrator.capabilities import Capability
from enlist.orchestrator.planning.lexicon import Token, tokens
from enlist.orchestrator.planning.profile import Lexicon, Profile, Term, profiles

ENOUGH = 2.5
"""Sum of weights at which the best capability is asked for: one decisive term, or a strong one with support."""
ENOUGH_MORE = 3.0
"""The same for each further capability: what is left of the text must carry a wish of its own."""
WEAK_CAP = 1.5
"""Terms of weight 1 together add at most this: casual words never decide."""
LIKENESS = 3.0
"""What covering an example request fully adds; it starts to add where `LIKENESS_FROM` of it is covered."""
LIKENESS_FROM = 0.4
AFFINITY, AFFINITY_CAP = 0.8, 2.0
"""What one word adds that only this capability's vocabulary has, and what all of them may add."""
MENDED = 0.8
"""What a term counts whose word was mended."""
TOGETHER = 30
"""The parts of one term stand within this many words of each other, else they speak of different things."""
WINDOW = 120
"""Tokens judged together; a longer text is judged window by window."""
MOST_MATCHES = 6
"""One request asks for at most this many capabilities; it bounds the work on a text that names everything."""


@dataclass
class Evidence:
    """What speaks for a capability in one window: the sum, the words that made it, and where they stand; `strong` are
    the places of words that do more than support, `alike` is what an example request adds, `not_yet` says what the text
    asks of the capability that its installed part does not answer."""

    capability: str
    total: float = 0.0
    words: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    lures: list[str] = field(default_factory=list)
    not_yet: tuple[str, ...] = ()
    alike: float = 0.0
    places: set[int] = field(default_factory=set)
    strong: set[int] = field(default_factory=set)

    @property
    def first(self) -> int:
        """Where its first word stands in the text."""
        return min(self.places, default=0)

    @property
    def score(self) -> float:
        """In [0, 1]: one half is just enough."""
        return round(self.total / (self.total + ENOUGH), 4)

    @property
    def reason(self) -> str:
        """The words and kinds that matched, and the words that turned out to be something else."""
        said = [f"says {', '.join(repr(w) for w in self.words[:4])}"] if self.words else []
        said += [f"attached: {', '.join(self.kinds)}"] if self.kinds else []
        said += [f"{', '.join(repr(w) for w in self.lures)} is something else"] if self.lures else []
        said += self.not_yet
        return "; ".join(said) or "resembles an example request"


@dataclass(frozen=True)
class Routing:
    """`matched`: what is asked for, best first; `near`: others with some evidence, best first."""

    matched: tuple[Evidence, ...]
    near: tuple[Evidence, ...]


class Window:
    """Some consecutive words of the text: stems by place, the places of each stem, and which words were mended."""

    def __init__(self, placed: list[tuple[int, Token]], lexicon: Lexicon) -> None:
        self.written = {place: token.word for place, token in placed}
        self.stems = {place: lexicon.vocabulary.mend(token.stem) for place, token in placed}
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


def route(text: str, kinds: Collection[str], capabilities: Mapping[str, Capability]) -> Routing:
    """The capabilities that `text` with attachments of `kinds` asks for."""
    lexicon = profiles(capabilities.values())
    windows = [Window(placed, lexicon) for placed in _cut(tokens(text))]
    away = max(judge(lexicon.elsewhere, window, set(), (), lexicon).total for window in windows)
    not_yet = {p.id: _not_yet(p, windows) for p in lexicon.profiles}
    unserved = any(not_yet.values())
    taken: set[int] = set()
    matched: list[Evidence] = []
    left = list(lexicon.profiles)
    while True:
        judged = [max((judge(profile, window, taken, kinds, lexicon) for window in windows),
                      key=lambda e: (e.total, len(e.lures))) for profile in left]
        for evidence in judged:
            evidence.total = max(0.0, evidence.total - away)
            evidence.not_yet = not_yet[evidence.capability]
        judged.sort(key=lambda e: (-e.total, e.capability))
        able = [e for e in judged if e.strong or e.alike > 0] if unserved else judged
        enough = ENOUGH_MORE if matched else ENOUGH
        if not able or able[0].total < enough or len(matched) == MOST_MATCHES or not (
                able[0].strong if matched else able[0].words):
            return Routing(tuple(matched), tuple(e for e in judged if e.total > 0 or e.lures or e.not_yet))
        matched.append(able[0])
        taken |= able[0].strong
        left = [p for p in left if p.id != able[0].capability]


def judge(profile: Profile, window: Window, taken: set[int], kinds: Collection[str], lexicon: Lexicon) -> Evidence:
    """What speaks for one capability in one window, without the words at `taken` places."""
    here = Evidence(profile.id)
    free = window.stems.keys() - taken
    for lure in profile.lures:
        for covered in window.places(lure):
            free -= set(covered)
            here.lures.append(" ".join(window.written[place] for place in covered))
    weak = 0.0
    for term in profile.terms:
        places = window.present(term, free)
        if not places or places <= here.places or (term.weight <= 1 and places & here.places):
            continue
        worth = term.weight * (MENDED if places & window.mended else 1.0)
        if places & here.places:
            worth /= 2  # a word that has counted once does not carry a second term in full
        if term.weight <= 1:
            worth = min(worth, WEAK_CAP - weak)
            weak += worth
        else:
            here.strong |= places
        here.total += worth
        here.words.append(term.text)
        here.places |= places
    here.alike = _likeness(profile, window, free, lexicon)
    here.total += here.alike
    here.total += _affinity(profile, window, free - here.places, lexicon)
    here.kinds = [kind for kind in profile.reads if kind in kinds]
    here.total += max((_worth_of_kind(lexicon.readers[kind]) for kind in here.kinds), default=0.0)
    return here


def _not_yet(profile: Profile, windows: Sequence[Window]) -> tuple[str, ...]:
    """The reasons of the wishes in the text that the capability's installed part does not answer."""
    found = []
    for reason, terms in profile.not_yet:
        for window in windows:
            free = window.stems.keys() - _running_on(profile, window, terms)
            if any(window.present(term, free) for term in terms):
                found.append(reason)
                break
    return tuple(found)


def _running_on(profile: Profile, window: Window, terms: Sequence[Term]) -> set[int]:
    """Places of one-phrase terms in which a phrase of the capability begins that runs past them: "peak memory" in
    "peak memory bandwidth" says nothing of memory."""
    ends = {places.stop: places for term in terms if len(term.parts) == 1
            for places in window.places(term.parts[0])}
    if not ends:
        return set()
    longer = [places for term in profile.terms for part in term.parts if len(part) > 1
              for places in window.places(part)]
    return {place for stop, shorter in ends.items() for places in longer
            if places.start in shorter and stop < places.stop for place in shorter}


def _worth_of_kind(readers: int) -> float:
    """A kind that many capabilities read says little."""
    return 1.5 if readers <= 2 else 1.0 if readers <= 4 else 0.5


def _likeness(profile: Profile, window: Window, free: set[int], lexicon: Lexicon) -> float:
    best = 0.0
    for phrase in profile.phrases:
        shared = [stem for stem in phrase if any(place in free for place in window.index.get(stem, ()))]
        if len(shared) >= 2:
            covered = sum(lexicon.rarity[s] for s in shared) / sum(lexicon.rarity[s] for s in phrase)
            best = max(best, LIKENESS * (covered - LIKENESS_FROM) / (1 - LIKENESS_FROM))
    return best


def _affinity(profile: Profile, window: Window, free: set[int], lexicon: Lexicon) -> float:
    """Partial credit: unclaimed words of the capability's vocabulary, each shared with others that use it."""
    words = {window.stems[place] for place in free} & profile.words
    return min(AFFINITY_CAP, sum(sorted(AFFINITY / lexicon.users[word] for word in words)))


def _cut(read: list[Token]) -> list[list[tuple[int, Token]]]:
    """Whole clauses up to `WINDOW` tokens, a longer clause cut; one empty window for an empty text."""
    windows: list[list[tuple[int, Token]]] = [[]]
    for place, token in enumerate(read):
        here = windows[-1]
        full = len(here) >= WINDOW or (len(here) >= WINDOW // 2 and token.clause != here[-1][1].clause)
        if full:
            windows.append([])
        windows[-1].append((place, token))
    return windows
