"""The story of an incident: its timeline, claims, what was rejected, what it touched and what is not known."""

import re
from collections.abc import Mapping, Sequence

from enlist.tools.logs.batch import Ref
from enlist.tools.logs.incident.blame import Mentions
from enlist.tools.logs.incident.model import Candidate, Claim, Event, EventKind, Herring, Incident
from enlist.tools.logs.incident.window import Episode, troubling
from enlist.tools.logs.signals.found import Grid
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.words import is_change, is_detection, is_mend, is_over

_ID = re.compile(r"(?<![\w.:/-])(?:(?=[\w-]*\d[\w-]*\d)[\w-]{4,40}|/[\w-]+(?:/[\w.-]+)+|[\w-]+\.[\w-]+\.[\w.-]+)"
                 r"(?![\w:])")
_MINUTE = 60_000_000_000
_AFTER = 12  # buckets after the last trouble in which it may be said that it is over


class Story:
    """Collects claims and events.

    Args:
        firsts: by service the statement by which it tells of the trouble first.
    """

    def __init__(self, found: Episode, mentions: Mentions, firsts: Mapping[str, Signal]) -> None:
        self.found, self.mentions, self.firsts = found, mentions, firsts
        self.claims: list[Claim] = []
        self.events: list[Event] = []

    def claim(self, text: str, lines: Sequence[Ref], template: str) -> int:
        """The place of a claim; one for each text and lines."""
        made = Claim(text, tuple(lines), pieces(template))
        if made not in self.claims:
            self.claims.append(made)
        return self.claims.index(made)

    def said(self, signal: Signal) -> int:
        """The claim that a signal makes."""
        return self.claim(sentence(signal), signal.lines, signal.text)

    def event(self, kind: EventKind, signal: Signal, place: int = 0) -> None:
        """An event of the timeline, told by one line of a signal."""
        if not signal.times:
            return
        place = min(place, len(signal.times) - 1)
        text = f"{signal.service or 'the log'} wrote '{signal.example[:160] if not place else signal.text[:160]}'"
        claim = self.claim(text, signal.lines[place:place + 1], signal.text)
        self.events.append(Event(kind, signal.service, signal.times[place], text, claim))

    def told(self, found: bool | None, candidates: Sequence[Candidate], trigger: Signal | None,
             support: Sequence[Signal], signals: Sequence[Signal], at: Grid) -> Incident:
        """The incident, with everything that is said of it; `support` are the statements of the best candidate's
        mechanism."""
        best = candidates[0] if candidates else None
        component = best.component if best else ""
        if trigger is not None:
            before = [n for n, t in enumerate(trigger.times) if t <= self.found.end]
            self.event("trigger", trigger, before[-1] if before else 0)
        self._symptoms(component, signals, trigger, support)
        over = self._aftermath(component, signals, at, trigger)
        unknown = []
        if best is None or best.cause == "unknown":
            unknown.append("the mechanism: no message tells of one")
        if trigger is None:
            unknown.append("what set it off: no change was logged in the component before the first symptom")
        if not over:
            unknown.append("whether it is over: nothing tells of recovery")
        herrings = self._herrings(component, trigger, signals)
        return Incident(found, self.found.start, self.found.end, tuple(candidates),
                        tuple(sorted(self.events, key=lambda e: e.time)), tuple(self.claims), tuple(herrings),
                        self._impact(), tuple(unknown), {"weight": self.found.weight})

    def _symptoms(self, component: str, signals: Sequence[Signal], trigger: Signal | None,
                  support: Sequence[Signal]) -> None:
        """The first sign in the component, and the first complaint of each other service."""
        since = trigger.times[0] if trigger is not None and trigger.times else self.found.start
        own = [s for s in signals if s.service == component and s.times and s.share >= 0.6 and s is not trigger
               and s.kind in ("rare", "first_seen", "burst") and since <= s.start <= self.found.start + _MINUTE
               and (s in support or s.bad >= 0.6) and not is_mend(s.example)]
        first = min(own, key=lambda s: s.start) if own else None
        if first is not None:
            self.event("first_symptom", first)
        for service, signal in sorted(self.firsts.items(), key=lambda f: f[1].start):
            if service == component and first is not None:
                continue
            if is_detection(signal.example) and not self.mentions.of(signal.text, service):
                continue
            self.event("propagation" if self.events or first is not None else "first_symptom", signal)

    def _aftermath(self, component: str, signals: Sequence[Signal], at: Grid, trigger: Signal | None) -> bool:
        """Who noticed, what was done, and whether it is over; True where something tells that it is."""
        wide = at.per * at.width * 1_000_000_000
        rare = [s for s in signals if s.kind in ("rare", "first_seen") and s.times
                and self.found.start <= s.times[0] <= self.found.end + _AFTER * wide]
        noticed = sorted((s for s in rare if is_detection(s.example) and not is_over(s.example)),
                         key=lambda s: s.times[0])
        if noticed:
            self.event("detection", noticed[0])
        seen = noticed[0].start if noticed else self.found.start
        done = sorted((s for s in rare if s.start > seen and s.bad < 0.6 and self._mends(s, component, trigger) > 1.0),
                      key=lambda s: (-self._mends(s, component, trigger), abs(s.start - self.found.end)))
        if done:
            self.event("mitigation", done[0])
        begun = done[0].start if done else self.found.end - wide
        until = max(begun, self.found.end) + 3 * wide
        after = [s for s in rare if begun <= s.start <= until and s not in done[:1] and s not in noticed[:1]]
        over = [s for s in after if s.service == component and is_over(s.example)]
        cleared = [s for s in after if is_detection(s.example) and is_over(s.example)]
        for some in (over, cleared):
            if some:
                self.event("recovery", some[0])
        if not over and not cleared and self.found.end < at.start(at.n) - 4 * wide:
            last = max(self.found.signals, key=lambda s: s.end)
            self.event("recovery", last, len(last.times) - 1)
            return True
        return bool(over or cleared)

    def _mends(self, signal: Signal, component: str, trigger: Signal | None) -> float:
        """How much a statement looks like the deed that ended the trouble of a component."""
        text = f"{signal.text} {signal.example}"
        own = signal.service == component
        if not own and component not in self.mentions.of(text, signal.service):
            return 0.0
        ids = {i for s in (trigger, *self.found.signals) if s is not None and (s.service == component or s is trigger)
               for i in ids_of(s.example)}
        alike = trigger is not None and signal.template == trigger.template and len(signal.times) == 1
        late = max(0.0, 1.0 - abs(signal.start - self.found.end) / max(1, self.found.end - self.found.start))
        return (1.5 * is_mend(text) + is_change(text) + 2.0 * bool(ids & ids_of(signal.example)) + 2.0 * alike
                + 0.4 * (signal.count == 1) + late)

    def _herrings(self, component: str, trigger: Signal | None, signals: Sequence[Signal]) -> list[Herring]:
        """Changes elsewhere before the first symptom, and trouble apart from it."""
        out = []
        part = {(s.service, s.template) for s in self.found.signals}
        for signal in signals:
            if signal is trigger or not signal.times or signal.kind not in ("rare", "burst", "first_seen"):
                continue
            changed = signal.kind == "rare" and is_change(signal.example) and signal.service != component \
                and signal.start <= self.found.start and signal.bad < 0.6
            loud = troubling(signal) and signal.count >= 4 and (signal.service, signal.template) not in part
            if not changed and not loud:
                continue
            if signal.start > self.found.end:
                why = "began after the incident was over"
            elif changed:
                why = "is in a service that the trouble does not lead to"
            elif signal.end < self.found.start:
                why = "was over before the first symptom"
            else:
                why = "goes on outside of the incident as well"
            text = f"{signal.service} wrote '{signal.example[:160]}'"
            out.append(Herring(signal.example, signal.service, why, self.claim(text, signal.lines[:1], signal.text)))
        return out[:6]

    def _impact(self) -> str:
        records = sum(s.count for s in self.found.signals)
        services = sorted({s.service for s in self.found.signals if s.service})
        seconds = (self.found.end - self.found.start) / 1e9
        named = f" ({', '.join(services[:6])})" if services else ""
        many = "s" if len(services) > 1 else ""
        return f"{records} records of trouble in {len(services) or 1} service{many}{named} over {length(seconds)}"


def ids_of(text: str) -> set[str]:
    """What looks like an id in a text: numbers of four digits and more, hexadecimal, paths."""
    return set(_ID.findall(text))


def pieces(template: str) -> tuple[str, ...]:
    """What every line of a statement holds, in this order: what stands between the slots of its template."""
    return tuple(p for piece in template.split("<*>") if (p := piece.strip()))


def sentence(signal: Signal) -> str:
    """What a signal says, for people, with its numbers."""
    quoted = f"'{signal.example[:160]}'"
    service = signal.service or "the log"
    match signal.kind:
        case "first_seen" if signal.count > 1:
            return f"{service} wrote {quoted} for the first time; {signal.count} such records in all"
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


def length(seconds: float) -> str:
    """A length of time for people."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
