"""Why: signals, blame and the words of mechanisms into an incident model with its claims.

A candidate is a pair of component and cause: its score is the component's blame times what is said of the mechanism.
The trigger is the statement of change in the component, or about it, that comes last before its first symptom;
statements that share an id with the mechanism's come first. What stands out and is no part of the story is told as
such.
"""

from collections.abc import Mapping, Sequence

from enlist.tools.logs.incident.blame import Blame, Mentions, blames, first_complaints, weight
from enlist.tools.logs.incident.causes import causes
from enlist.tools.logs.incident.evidence import heard, is_changed, scores
from enlist.tools.logs.incident.model import Candidate, Incident
from enlist.tools.logs.incident.story import Story, ids_of, sentence
from enlist.tools.logs.incident.window import DOUBTFUL, ENOUGH, Episode, episode
from enlist.tools.logs.signals.found import Grid
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.tally import Series
from enlist.tools.logs.signals.words import is_change

_MOST = 5
_LEAD = 0.2
"""Of the whole span: how long before the first trouble its cause may be written of."""
_NS = 1_000_000_000
_HEARD = 0.5
_UNTOLD = 0.35
"""Of the blame of a service that stays with it where nothing that it wrote tells of the mechanism."""
_FRESH = 0.2
_STEADY, _FALLEN = 20, 0.25
_WITNESS = 0.8
"""Of the blame of a service that goes to one whose own quiet words at the time tell of it and of a mechanism."""
_LEAST = 0.02


def infer(signals: Sequence[Signal], series: Mapping[tuple[str, int], Series], texts: Mapping[int, str],
          at: Grid) -> Incident:
    """The incident in some signals, or that there is none."""
    found = episode(signals, series, texts, at)
    if found is None or found.weight < DOUBTFUL:
        return Incident(False, measures={"weight": found.weight if found else 0.0})
    mentions = Mentions({service for service, _ in series if service})
    lead = int(_LEAD * at.n * at.per * at.width * _NS)
    shares = blames(found, mentions)
    story = Story(found, mentions, first_complaints(found, mentions))
    heard_of = {service for service, _ in series} - _fallen(series, found, at)
    ranked = _ranked(shares, signals, found, mentions, lead, heard_of)
    total = sum(score for score, *_ in ranked) + 0.05
    candidates = []
    for score, blame, cause, support, trigger in ranked[:_MOST]:
        lines = [s for s in (trigger, *support) if s is not None]
        candidates.append(Candidate(blame.service, cause, round(score / total, 3), trigger.example if trigger else "",
                                    tuple(sentence(s) for s in support[:3]), tuple(story.said(s) for s in lines[:5])))
    trigger = ranked[0][4] if ranked else None
    support = ranked[0][3] if ranked else []
    return story.told(True if found.weight >= ENOUGH else None, candidates, trigger, support, signals, at)


Ranked = tuple[float, Blame, str, list[Signal], Signal | None]


def _ranked(shares: Sequence[Blame], signals: Sequence[Signal], found: Episode, mentions: Mentions,
            lead: int, services: set[str]) -> list[Ranked]:
    out: list[Ranked] = []
    blamed = {b.service: b for b in shares}
    complaint = _complaint(found)
    for service in sorted(set(services) | set(list(blamed)[:_MOST])):
        blame = blamed.get(service, Blame(service, 0.0, 0.0, (), None))
        statements = heard(service, signals, found, mentions, lead)
        onset = blame.onset if blame.onset is not None else found.start
        of_causes = scores(statements, is_changed(statements, onset), service not in services)
        whole = sum(score for score, _ in of_causes.values())
        for cause, (score, support) in of_causes.items():
            mine = [s for s in support if s.service == service]
            own = [s for s in mine if s.bad < 0.5]
            about = {o for s in own for o in mentions.of(f"{s.text} {s.example}", service)}
            shown = min(1.0, score / 4)
            told = blame.share if mine or service not in services else _UNTOLD * blame.share
            fresh = any(abs(s.start - found.start) <= lead // 5 and s.share >= 0.6 for s in own)
            share = told + shown * (_HEARD * complaint.get(cause, 0.0) * bool(own) + _FRESH * fresh
                                    + _WITNESS * sum(blamed[o].share for o in about if o in blamed))
            if score > 0 and share > _LEAST:
                trigger = trigger_of(service, signals, onset, lead, mentions, support)
                out.append((share * (score / whole) * min(1.0, 0.3 + score / 4), blame, cause, support, trigger))
        if whole == 0 and blame.share > _LEAST:
            change = trigger_of(service, signals, onset, lead, mentions, [])
            out.append((0.2 * blame.share, blame, "unknown", [], change))
    return sorted(out, key=lambda r: (-r[0], r[1].service, r[2]))


def _fallen(series: Mapping[tuple[str, int], Series], found: Episode, at: Grid) -> set[str]:
    """Services that write next to nothing while the trouble lasts and wrote steadily before."""
    wide = at.width * _NS
    inside: dict[str, int] = {}
    before: dict[str, int] = {}
    for (service, _), one in series.items():
        for slot, n in one.counts.items():
            if found.start <= slot * wide <= found.end:
                inside[service] = inside.get(service, 0) + n
            elif slot * wide < found.start:
                before[service] = before.get(service, 0) + n
    length, lead = max(found.end - found.start, wide), max(found.start - at.start(0), wide)
    return {service for service, n in before.items() if n >= _STEADY
            and inside.get(service, 0) / length < _FALLEN * n / lead}


def _complaint(found: Episode) -> dict[str, float]:
    """Which share of all complaints is in the words of each cause: victims may tell the mechanism, not the place."""
    out: dict[str, float] = {}
    total = 0.0
    for signal in found.signals:
        total += weight(signal)
        for name, cause in causes().items():
            if cause.strong.search(f"{signal.text} {signal.example}"):
                out[name] = out.get(name, 0.0) + weight(signal)
    return {name: w / total for name, w in out.items()} if total else {}


def trigger_of(component: str, signals: Sequence[Signal], onset: int, lead: int, mentions: Mentions,
               support: Sequence[Signal]) -> Signal | None:
    """What somebody or something did to a component last before its first symptom; what shares an id with the
    statements of the mechanism comes first."""
    ids = {i for s in support for i in ids_of(s.example)}
    best: tuple[float, int, Signal] | None = None
    for signal in signals:
        if signal.kind not in ("rare", "first_seen") or not signal.times or signal in support[:1]:
            continue
        before = [t for t in signal.times if onset - lead <= t <= onset]
        text = f"{signal.text} {signal.example}"
        about = signal.service == component or component in mentions.of(text, signal.service)
        if not before or not about or signal.bad >= 0.6:
            continue
        rank = 2.0 * is_change(text) + 3.0 * bool(ids & ids_of(signal.example)) + 0.5 * (signal.count == 1)
        rank += 0.5 * (signal.service == component) - 0.5 * (signal.count > 3)
        rank += 1.0 - (onset - before[-1]) / max(1, lead)
        if rank >= 1.8 and (best is None or (rank, before[-1]) > best[:2]):
            best = rank, before[-1], signal
    return best[2] if best else None
