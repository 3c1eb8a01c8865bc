"""Why: signals, blame and the words of mechanisms into an incident model with its claims.

A candidate is a pair of component and cause: its score is the component's blame times what is said of the mechanism.
The trigger is the statement of change in the component, or about it, that comes last before its first symptom;
statements that share an id with the mechanism's come first. What stands out and is no part of the story is told as
such.
"""

import re
from collections.abc import Mapping, Sequence

from enlist.tools.logs.incident.blame import Blame, Mentions, blames, first_complaints
from enlist.tools.logs.incident.evidence import heard, scores
from enlist.tools.logs.incident.model import Candidate, Incident
from enlist.tools.logs.incident.story import Story, sentence
from enlist.tools.logs.incident.window import DOUBTFUL, ENOUGH, Episode, episode
from enlist.tools.logs.signals.found import Grid
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.tally import Series
from enlist.tools.logs.signals.words import is_change, is_mend

_MOST = 5
_LEAD = 0.2
"""Of the whole span: how long before the first trouble its cause may be written of."""
_NS = 1_000_000_000
_ID = re.compile(r"(?<![\w.])(?=\w*\d)[\w-]{4,40}(?![\w.])")


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
    ranked = _ranked(shares, signals, found, mentions, lead)
    total = sum(score for score, *_ in ranked) + 0.05
    candidates = []
    for score, blame, cause, support, trigger in ranked[:_MOST]:
        lines = [s for s in (trigger, *support) if s is not None]
        candidates.append(Candidate(blame.service, cause, round(score / total, 3), trigger.example if trigger else "",
                                    tuple(sentence(s) for s in support[:3]), tuple(story.said(s) for s in lines[:5])))
    trigger = ranked[0][4] if ranked else None
    return story.told(True if found.weight >= ENOUGH else None, candidates, trigger, signals, at)


Ranked = tuple[float, Blame, str, list[Signal], Signal | None]


def _ranked(shares: Sequence[Blame], signals: Sequence[Signal], found: Episode, mentions: Mentions,
            lead: int) -> list[Ranked]:
    out: list[Ranked] = []
    for blame in shares[:_MOST]:
        statements = heard(blame.service, signals, found, mentions, lead)
        onset = blame.onset if blame.onset is not None else found.start
        change = trigger_of(blame.service, signals, onset, lead, mentions, [])
        of_causes = scores(statements, change is not None)
        whole = sum(score for score, _ in of_causes.values())
        for cause, (score, support) in of_causes.items():
            if score > 0:
                trigger = trigger_of(blame.service, signals, onset, lead, mentions, support)
                out.append((blame.share * (0.3 + score / whole) * min(1.0, score), blame, cause, support, trigger))
        if whole == 0:
            out.append((0.2 * blame.share, blame, "unknown", [], change))
    return sorted(out, key=lambda r: (-r[0], r[1].service, r[2]))


def trigger_of(component: str, signals: Sequence[Signal], onset: int, lead: int, mentions: Mentions,
               support: Sequence[Signal]) -> Signal | None:
    """What somebody or something did to a component last before its first symptom."""
    ids = {i for s in support for i in _ID.findall(s.example)}
    best: tuple[float, int, Signal] | None = None
    for signal in signals:
        if signal.kind not in ("rare", "first_seen") or not signal.times:
            continue
        before = [t for t in signal.times if onset - lead <= t <= onset]
        text = f"{signal.text} {signal.example}"
        about = signal.service == component or component in mentions.of(text, signal.service)
        if not before or not about or signal.bad >= 0.6 or (is_mend(text) and not is_change(text)):
            continue
        rank = 2.0 * is_change(text) + 1.5 * bool(ids & set(_ID.findall(signal.example)))
        rank += 0.5 * (signal.service == component) - 0.5 * (signal.count > 3)
        rank += 1.0 - (onset - before[-1]) / max(1, lead)
        if rank >= 1.5 and (best is None or (rank, before[-1]) > best[:2]):
            best = rank, before[-1], signal
    return best[2] if best else None
