"""Why: signals, blame and the words of mechanisms into an incident model with its claims.

A candidate is a pair of component and cause. Its score is the component's blame times what its own messages, and the
complaints about it, say of the mechanism; a change that somebody made in the component shortly before the first
trouble supports causes by change, and any other cause as its trigger. What stands out and is no part of the story is
told as such.
"""

from collections.abc import Mapping, Sequence
from math import log1p

from enlist.tools.logs.batch import Ref
from enlist.tools.logs.incident.blame import Blame, Mentions, blames
from enlist.tools.logs.incident.causes import Cause, causes
from enlist.tools.logs.incident.model import Candidate, Claim, Event, EventKind, Herring, Incident
from enlist.tools.logs.incident.window import DOUBTFUL, ENOUGH, Episode, episode, weight
from enlist.tools.logs.signals.found import Grid
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.words import is_detection, is_mend

_MOST = 5
_LEAD = 0.25  # of the span: how long before the first trouble a change may lie
_CHANGES = ("change", "restart")


def infer(signals: Sequence[Signal], texts: Mapping[str, Sequence[str]], at: Grid) -> Incident:
    """The incident in some signals, or that there is none.

    Args:
        texts: by service, an example of each of its statements.
    """
    found = episode(signals, at)
    if found is None or found.weight < DOUBTFUL:
        return Incident(False, measures={"weight": found.weight if found else 0.0})
    story = _Story(signals, texts, at, found)
    return story.told(True if found.weight >= ENOUGH else None)


class _Story:
    def __init__(self, signals: Sequence[Signal], texts: Mapping[str, Sequence[str]], at: Grid, found: Episode) -> None:
        self.signals, self.at, self.found = signals, at, found
        self.mentions = Mentions(texts)
        self.blames = blames(found, self.mentions, texts)
        self.claims: list[Claim] = []
        self.lead = int(_LEAD * at.n * at.per * at.width * 1e9)

    def claim(self, text: str, lines: Sequence[Ref], template: str) -> int:
        """The place of a claim; one for each text and lines."""
        made = Claim(text, tuple(lines), pieces(template))
        if made not in self.claims:
            self.claims.append(made)
        return self.claims.index(made)

    def said(self, signal: Signal) -> int:
        """The claim that a signal makes."""
        return self.claim(sentence(signal), signal.lines, signal.text)

    def told(self, found: bool | None) -> Incident:
        candidates = self._candidates()
        timeline = self._timeline(candidates[0] if candidates else None)
        herrings = self._herrings(candidates[0] if candidates else None)
        unknown = []
        if not candidates or candidates[0].cause == "unknown":
            unknown.append("the mechanism: no message tells of one")
        if not candidates or not candidates[0].trigger:
            unknown.append("what set it off: no change was logged in the component before the first symptom")
        if not any(e.kind == "recovery" for e in timeline):
            unknown.append("whether it is over: trouble goes on to the end of the logs")
        return Incident(found, self.found.start, self.found.end, tuple(candidates), tuple(timeline), tuple(self.claims),
                        tuple(herrings), self._impact(), tuple(unknown), {"weight": self.found.weight})

    # Causes

    def _candidates(self) -> list[Candidate]:
        scored = []
        for blame in self.blames[:_MOST]:
            near = self._near(blame)
            change = self._trigger(blame)
            for cause in causes().values():
                score, support = self._speaks_for(cause, blame, near, change)
                if score > 0:
                    scored.append((blame.share * score, blame, cause, change, support))
        if not scored:
            return [Candidate(b.service, "unknown", round(0.5 * b.share, 3), "", (), ()) for b in self.blames[:3]]
        total = sum(s for s, *_ in scored) + 0.1
        scored.sort(key=lambda s: (-s[0], s[1].service, s[2].id))
        out = []
        for score, blame, cause, change, support in scored[:_MOST]:
            trigger = change.example if change else ""
            lines = [change, *support] if change else support
            why = tuple(sentence(s) for s in support[:3])
            out.append(Candidate(blame.service, cause.id, round(score / total, 3), trigger, why,
                                 tuple(self.said(s) for s in lines[:4])))
        return out

    def _near(self, blame: Blame) -> list[tuple[Signal, float]]:
        """Signals that may tell of the mechanism in a component, with how much each counts: its own, and complaints."""
        out = []
        begin = self.found.start - self.lead
        for signal in self.signals:
            if not begin <= signal.start <= self.found.end:
                continue
            if signal.service == blame.service:
                out.append((signal, 1.0))
            elif blame.service in self.mentions.of(f"{signal.text} {signal.example}", signal.service):
                out.append((signal, 0.5))
            else:
                out.append((signal, 0.1))
        return out

    def _speaks_for(self, cause: Cause, blame: Blame, near: Sequence[tuple[Signal, float]],
                    change: Signal | None) -> tuple[float, list[Signal]]:
        score = 0.0
        support = []
        for signal, part in near:
            text = f"{signal.text} {signal.example}"
            strong = {m.lower() for m in cause.strong.findall(text)}
            weak = {m.lower() for m in cause.weak.findall(text)}
            said = 2.0 * min(2, len(strong)) + 0.5 * min(2, len(weak))
            if not said or (cause.by_change and signal.kind not in _CHANGES and not strong):
                continue
            early = 1.0 if signal.start <= self.found.start + self.lead // 4 else 0.6
            heft = 0.5 + max(weight(signal), 0.5 if signal.kind in ("growth", "change") else 0.0)
            if is_mend(text) and signal.start > self.found.start:
                heft *= 0.5
            score += part * said * early * min(heft, 3.0)
            support.append((part * said * heft, signal))
        if cause.by_change and change is None:
            score *= 0.3
        support.sort(key=lambda s: (-s[0], s[1].start, s[1].template))
        return log1p(score) ** 2, [s for _, s in support[:3]]

    def _trigger(self, blame: Blame) -> Signal | None:
        """The last change in a component, or naming it, before its first trouble."""
        onset = blame.onset if blame.onset is not None else self.found.start
        until = onset + self._slack()
        before = [s for s in self.signals if s.kind in _CHANGES and onset - self.lead <= s.start <= until]
        mine = [s for s in before if s.service == blame.service]
        named = [s for s in before if blame.service in self.mentions.of(f"{s.text} {s.example}", s.service)]
        for some in (mine, named):
            real = [s for s in some if s.kind == "change" and not (is_mend(s.example) and s.start > onset)]
            changes = real or some
            if changes:
                return max(changes, key=lambda s: (s.kind == "change", s.start))
        return None

    def _slack(self) -> int:
        return self.at.per * self.at.width * 1_000_000_000

    # Story

    def _timeline(self, best: Candidate | None) -> list[Event]:
        events: list[Event] = []

        def event(kind: EventKind, signal: Signal) -> None:
            claim = self.said(signal)
            events.append(Event(kind, signal.service, signal.start, self.claims[claim].text, claim))

        if best is not None:
            blame = next(b for b in self.blames if b.service == best.component)
            if change := self._trigger(blame):
                event("trigger", change)
        seen: set[str] = set()
        for signal in self.found.signals:
            if signal.service not in seen:
                seen.add(signal.service)
                event("first_symptom" if len(seen) == 1 else "propagation", signal)
        inside = [s for s in self.signals if self.found.start < s.start <= self.found.end + self._slack() * 6]
        if noticed := [s for s in inside if is_detection(s.example)]:
            event("detection", noticed[0])
        for signal in [s for s in inside if s.kind in _CHANGES and is_mend(s.example)][:2]:
            event("mitigation", signal)
        last = max(self.found.signals, key=lambda s: s.end)
        if self.found.end < self.at.start(self.at.n) - 2 * self._slack():
            claim = self.claim(f"{last.service}: the last of '{last.text}' in this episode", last.lines[-1:],
                               last.text)
            events.append(Event("recovery", last.service, last.end, self.claims[claim].text, claim))
        return sorted(events, key=lambda e: e.time)

    def _herrings(self, best: Candidate | None) -> list[Herring]:
        """What stands out besides: other episodes, changes elsewhere, trouble that began after the symptoms."""
        out = []
        part = {(s.service, s.template) for s in self.found.signals}
        for signal in self.signals:
            loud = weight(signal) >= 0.8 and (signal.service, signal.template) not in part
            elsewhere = signal.kind == "change" and best is not None and signal.service != best.component \
                and signal.example != best.trigger
            if not (loud or elsewhere):
                continue
            if signal.start > self.found.end:
                why = "began after the incident was over"
            elif signal.end < self.found.start - self.lead:
                why = "was over long before the first symptom"
            elif signal.start > self.found.start:
                why = "began after the first symptom"
            else:
                why = "is in a service that no complaint of the troubled ones names"
            out.append(Herring(signal.example, signal.service, why, self.said(signal)))
        return out[:6]

    def _impact(self) -> str:
        bad = [s for s in self.found.signals if s.kind in ("burst", "first_seen") and s.bad >= 0.3]
        records = sum(s.count for s in bad)
        services = sorted({s.service for s in self.found.signals})
        seconds = (self.found.end - self.found.start) / 1e9
        return (f"{records} records of trouble in {len(services)} service{'s' if len(services) != 1 else ''} "
                f"({', '.join(services[:6])}) over {_length(seconds)}")


def pieces(template: str) -> tuple[str, ...]:
    """What every line of a statement holds, in this order: what stands between the slots of its template."""
    return tuple(p for piece in template.split("<*>") if (p := piece.strip()))


def sentence(signal: Signal) -> str:
    """What a signal says, for people, with its numbers."""
    quoted = f"'{signal.example[:160]}'"
    service = signal.service or "the log"
    match signal.kind:
        case "first_seen":
            return f"{service} wrote {quoted} for the first time; {signal.count} such records followed"
        case "burst":
            return (f"{service} wrote {quoted} {signal.count} times, up to {signal.value['peak']:.0f} in a slice where "
                    f"{signal.value['baseline']:.0f} are usual")
        case "silence":
            return f"{service} stopped writing {quoted}, where about {signal.value['expected']:.0f} were due"
        case "shift":
            usual, peak = signal.value["usual"], signal.value["peak"]
            return f"{service}: numbers in {quoted} rose from about {usual:.3g} to {peak:.3g}"
        case "growth":
            return f"{service}: numbers in {quoted} climbed from {signal.value['from']:.3g} to {signal.value['to']:.3g}"
        case _:
            return f"{service} wrote {quoted}"


def _length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
