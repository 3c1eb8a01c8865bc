"""Routing: which capabilities a request asks for, by its words and by the kinds of what is attached.

A capability is asked for where what speaks for it (`evidence.py`) exceeds what speaks for `elsewhere` by `ENOUGH`; else
the planner declines. The text is judged whole and clause by clause, so that a second wish is not drowned by the first.
Words that the best capability has claimed are taken away before the next is judged, and a further one must be ahead in
a clause of its own or bring strong words, so that one wish is not read as two. Where the text asks for something that a
capability names as not answered yet (`not_yet`), words that only support ("H100") belong to that wish and carry no
other one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from enlist.orchestrator.capabilities import Capability
from enlist.orchestrator.planning.evidence import ENOUGH, Evidence, View, Window
from enlist.orchestrator.planning.lexicon import Token, tokens
from enlist.orchestrator.planning.meaning import ENOUGH as ENOUGH_BY_MEANING
from enlist.orchestrator.planning.meaning import WEIGHT, Meaning
from enlist.orchestrator.planning.profile import Lexicon, Profile, Term, profiles

ENOUGH_MORE = 5.8
"""As `ENOUGH`, for each further capability: what is left of the text must carry a wish of its own."""
AHEAD, BEHIND = 4.0, -3.0
"""Being ahead of all others in a clause counts for a further capability, and being behind against it, up to here."""
WINDOW = 120
"""Tokens judged together; a longer text is judged window by window."""
_CONJUNCTIONS = ("and then also plus und dann danach ausserdem et puis ensuite y luego ademas e depois alem poi "
                 "inoltre oraz potem aur")
_JOINING = frozenset(_CONJUNCTIONS.split())
SHORTEST = 4
"""Words of a clause that is judged by itself."""
MOST_MATCHES = 6
"""One request asks for at most this many capabilities; it bounds the work on a text that names everything."""


@dataclass(frozen=True)
class Routing:
    """`matched`: what is asked for, best first; `near`: others with some evidence, best first."""

    matched: tuple[Evidence, ...]
    near: tuple[Evidence, ...]


def route(text: str, kinds: Collection[str], capabilities: Mapping[str, Capability],
          meaning: Meaning | None = None) -> Routing:
    """The capabilities that `text` with attachments of `kinds` asks for, by words, or also by `meaning`."""
    lexicon = profiles(capabilities.values())
    read = tokens(text)
    beyond = {name: WEIGHT * lead for name, lead in meaning.leads(text).items()} if meaning else {}
    windows = [View(Window(placed, lexicon), lexicon, beyond) for placed in _cut(read)]
    clauses = [View(Window(placed, lexicon), lexicon, beyond) for placed in _clauses(read)]
    not_yet = {p.id: _not_yet(p, [view.window for view in windows]) for p in lexicon.profiles}
    judged = _best(lexicon.profiles, [*windows, *clauses], set(), kinds, lexicon)
    matched = _first(judged, not_yet, ENOUGH_BY_MEANING if meaning else ENOUGH)
    lead = _leads(clauses, kinds, lexicon) if matched else {}
    while matched:
        names = {e.capability for e in matched}
        judged = _best([p for p in lexicon.profiles if p.id not in names], windows,
                       {place for e in matched for place in e.strong}, kinds, lexicon)
        further = [(e.total + max(BEHIND, min(AHEAD, lead.get(e.capability, BEHIND))), e) for e in judged
                   if e.strong or lead.get(e.capability, 0.0) > 0]
        most, best = max(further, key=lambda item: item[0], default=(0.0, None))
        if best is None or most < ENOUGH_MORE or len(matched) == MOST_MATCHES:
            break
        matched.append(best)
    names = {e.capability for e in matched}
    for e in (*matched, *judged):
        e.not_yet = not_yet[e.capability]
    return Routing(tuple(matched), tuple(e for e in judged if (e.words or e.lures or e.not_yet)
                                         and e.capability not in names))


def _first(judged: Sequence[Evidence], not_yet: Mapping[str, Sequence[str]], least: float) -> list[Evidence]:
    """The best one, where it is asked for. Where the text asks for what is not answered yet, words that only support
    carry nothing, and another capability than that must be asked for as clearly as a further one."""
    unanswered = {name for name, reasons in not_yet.items() if reasons}
    for e in judged:
        if e.strong or not unanswered:
            enough = ENOUGH_MORE if unanswered and e.capability not in unanswered else least
            return [e] if e.total >= enough else []
    return []


def _best(left: Sequence[Profile], views: Sequence[View], taken: set[int], kinds: Collection[str],
          lexicon: Lexicon) -> list[Evidence]:
    """For each profile what speaks for it and against `elsewhere` in the view that speaks best, best first."""
    best: dict[str, Evidence] = {}
    for view in views:
        for here in view.judged(left, taken, kinds, lexicon):
            other = best.get(here.capability)
            if other is None or (here.total, len(here.lures)) > (other.total, len(other.lures)):
                best[here.capability] = here
    return sorted(best.values(), key=lambda e: (-e.total, e.capability))


def _leads(clauses: Sequence[View], kinds: Collection[str], lexicon: Lexicon) -> dict[str, float]:
    """By capability, how far it is ahead of (or behind) the best other one in the clause that suits it best."""
    lead: dict[str, float] = {}
    for clause in clauses:
        judged = sorted(clause.judged(lexicon.profiles, set(), kinds, lexicon), key=lambda e: -e.total)
        for e in judged:
            ahead = e.total - (judged[1] if e is judged[0] else judged[0]).total
            lead[e.capability] = max(ahead, lead.get(e.capability, ahead))
    return lead


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


def _clauses(read: list[Token]) -> list[list[tuple[int, Token]]]:
    """The clauses of a text that has several, cut at conjunctions too; very short ones say too little."""
    found: list[list[tuple[int, Token]]] = []
    for place, token in enumerate(read):
        if not found or token.clause != found[-1][-1][1].clause or token.word in _JOINING:
            found.append([])
        found[-1].append((place, token))
    return [placed for placed in found if len(placed) >= SHORTEST] if len(found) > 1 else []
