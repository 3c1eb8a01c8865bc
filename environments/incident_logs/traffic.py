"""Healthy background: requests, chatter, heartbeats, periodic jobs and everyday changes, in slots of time.

Rates follow a daily rhythm and are bursty (a gamma-distributed factor per slot, short runs of one template), templates
are Zipf within a service, with a long tail of rare ones that only this system has. Nothing here knows of an incident
but through effects: a service may be slower, fail, or fall silent for a while.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, pi, sin, sqrt
from random import Random

from enlist.environments.incident_logs import routine
from enlist.environments.incident_logs.model import Effect, Emission, Level, Service, System
from enlist.environments.incident_logs.phrases import CHATTER, HEARTBEATS, JOBS
from enlist.environments.incident_logs.requests import Requests
from enlist.environments.incident_logs.slots import fill
from enlist.environments.incident_logs.words import FIRST, SECOND, VERBS

REQUEST_SHARE, PERIODIC_SHARE = 0.45, 0.07
_TAIL = 40
MEAN_RUN = 1.9
"""Mean length of a run of one template: 0.88 + 0.12 * (1 + 2.5 * mean of a Pareto number cut at 36)."""
_DAY = 86400.0


def poisson(rng: Random, mean: float) -> int:
    """A Poisson number; above 60 its normal approximation."""
    if mean <= 0:
        return 0
    if mean > 60:
        return max(0, round(rng.gauss(mean, sqrt(mean))))
    limit, count, product = exp(-mean), 0, rng.random()
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


def rhythm(at: float) -> float:
    """The factor of the time of day: most in the afternoon, least at night, 1 on average."""
    return 1 + 0.45 * sin(2 * pi * (at % _DAY) / _DAY - 2.2)


@dataclass(frozen=True)
class Voice:
    """What one service says by itself: phrases with cumulative Zipf weights, and its share of all chatter."""

    service: Service
    phrases: tuple[tuple[Level, str], ...]
    cumulative: tuple[float, ...]
    share: float


def voice(system: System, service: Service, rng: Random) -> Voice:
    """The common phrases of the role first, then the tail of this service."""
    common = [(level, second if system.wording else first) for level, first, second in CHATTER[service.role]]
    phrases = common + [_rare(rng, system.wording) for _ in range(_TAIL)]
    exponent = rng.uniform(1.05, 1.4)
    weights = [1 / (rank + 1) ** exponent for rank in range(len(phrases))]
    noise = min(8.0, rng.lognormvariate(0.3, 1.0))
    for rank, (level, _) in enumerate(phrases):
        weights[rank] *= {"error": 0.5 * noise, "warn": 0.8 * noise}.get(level, 1.0)
    total, run, cumulative = sum(weights), 0.0, []
    for weight in weights:
        run += weight / total
        cumulative.append(run)
    return Voice(service, tuple(phrases), tuple(cumulative), rng.lognormvariate(0, 0.8))


def _rare(rng: Random, wording: int) -> tuple[Level, str]:
    verb, word, noun = (options[int(rng.random() * len(options))] for options in (VERBS, FIRST, SECOND))
    shape, roll = int(rng.random() * 6), rng.random()
    level: Level = "debug" if roll < 0.35 else "error" if roll > 0.96 else "warn" if roll > 0.87 else "info"
    shapes = ((f"{verb} {word} {noun} {{id}}", f"{noun} {word} {verb}: {{id}}"),
              (f"{verb} {{n}} {word} {noun}s in {{ms}} ms", f"{{n}} {noun}s of {word} {verb}, {{ms}} ms"),
              (f"{word} {noun} {verb}", f"{verb} the {noun} of {word}"),
              (f"{noun} of {word} {verb} by {{user}}, {{kb}} kB", f"{{user}} {verb} {noun} {word} ({{kb}} kB)"),
              (f"{word}: {verb} {{num}}", f"{verb} {{num}} for {word}"),
              (f"{word}.{noun} {verb} from {{ip}} after {{sec}} s", f"{{ip}} {verb} {word}.{noun}, {{sec}} s"))
    return level, shapes[shape][wording]


class Traffic:
    """The background of a system: `slot(start, end)` gives its records between two times, in no order."""

    def __init__(self, system: System, seed: int, start: float, span: float, lines: int,
                 effects: Sequence[Effect] = (), spared: str = "") -> None:
        """`spared` names a service that has no everyday changes."""
        self.rng = Random(f"traffic {seed}")
        self.system, self.effects = system, tuple(effects)
        self.requests = Requests(system, effects)
        self.loud = [s for s in system.services if s.logs]
        self.voices = [voice(system, s, self.rng) for s in self.loud]
        total = sum(v.share for v in self.voices)
        self.usual = sum(rhythm(start + span * (i + 0.5) / 24) for i in range(24)) / 24
        chatter = lines * (1 - REQUEST_SHARE - PERIODIC_SHARE) / span
        self.per_s = [chatter * v.share / total for v in self.voices]
        self.requests_per_s = lines * REQUEST_SHARE / self._lines_per_request(seed) / span
        self.periodic = self._periodic(start, span, lines)
        self.changes = sorted(self._changes(start, span, spared), key=lambda one: one.at)

    def slot(self, start: float, end: float) -> list[Emission]:
        """Records that begin in [start, end)."""
        rng, lines, length, day = self.rng, [], end - start, rhythm(start) / self.usual
        active = self.requests.active(start, end)
        for _ in range(poisson(rng, self.requests_per_s * length * day * rng.gammavariate(6, 1 / 6))):
            lines += self.requests.one(rng, start + rng.random() * length, active)
        for number, speaker in enumerate(self.voices):
            mean = self.per_s[number] * length * day * rng.gammavariate(1.6, 1 / 1.6)
            lines += self._chatter(speaker, start, length, mean * self._rate(speaker.service.name, start))
        for number, (due, every, who, phrases) in enumerate(self.periodic):
            while due < end:
                if self._rate(who.name, due) > 0.05:
                    lines.append(Emission(who.name, max(start, due), "info", fill(phrases[0], rng)))
                phrases = (*phrases[1:], phrases[0])
                due += every * rng.uniform(0.97, 1.03)
            self.periodic[number] = (due, every, who, phrases)
        while self.changes and self.changes[0].at < end:
            one = self.changes.pop(0)
            if self._rate(one.service, one.at) > 0.05:
                lines.append(one)
        return lines

    def _lines_per_request(self, seed: int) -> float:
        rng = Random(f"sample of requests {seed}")
        return sum(len(self.requests.one(rng, 0.0, {})) for _ in range(200)) / 200

    def _rate(self, service: str, at: float) -> float:
        rate = 1.0
        for effect in self.effects:
            if effect.service == service and effect.rate != 1 and effect.start <= at < effect.end:
                rate *= effect.rate
        return rate

    def _chatter(self, speaker: Voice, start: float, length: float, mean: float) -> list[Emission]:
        """Single records and runs of one template, some of them word for word, with heavy-tailed lengths."""
        rng, name, lines = self.rng, speaker.service.name, []
        for _ in range(poisson(rng, mean / MEAN_RUN)):
            level, phrase = speaker.phrases[min(bisect(speaker.cumulative, rng.random()), len(speaker.phrases) - 1)]
            at, run = start + rng.random() * length, self._run(level)
            text, alike = fill(phrase, rng), rng.random() < 0.6
            for place in range(run):
                lines.append(Emission(name, at, level, text if alike or place == 0 else fill(phrase, rng)))
                at += rng.expovariate(6.0)
        return lines

    def _run(self, level: Level) -> int:
        """How often a template is written in one go: mostly once, else a Pareto number."""
        if self.rng.random() > 0.12:
            return 1
        return min(12 if level == "error" else 90, 1 + int(2.5 * self.rng.paretovariate(1.25)))

    def _periodic(self, start: float, span: float, lines: int) -> list[tuple[float, float, Service, tuple[str, ...]]]:
        """Heartbeats of each service, and a job of some; as (due, every, service, what it says in turn)."""
        rng, wording = self.rng, self.system.wording
        every = max(10.0, len(self.loud) * span / (PERIODIC_SHARE * lines))
        due: list[tuple[float, float, Service, tuple[str, ...]]] = []
        for service in self.loud:
            _, *said = HEARTBEATS[int(rng.random() * len(HEARTBEATS))]
            due.append((start + rng.random() * every, every * rng.uniform(0.7, 1.4), service, (said[wording],)))
            if rng.random() < 0.5:
                job, name = JOBS[int(rng.random() * len(JOBS))], FIRST[int(rng.random() * len(FIRST))]
                begins, ends = (text.replace("{name}", name) for text in job[2 * wording:2 * wording + 2])
                due.append((start + rng.random() * span / 9, span / 9, service, (begins, ends)))
        return due

    def _changes(self, start: float, span: float, spared: str) -> list[Emission]:
        """Everyday changes, a few in any stream."""
        rng = self.rng
        found: list[Emission] = []
        able = [s for s in self.loud if s.role not in ("control", "monitor") and s.name != spared]
        for _ in range(3 + poisson(rng, 2.5)):
            service, at = able[int(rng.random() * len(able))], start + rng.uniform(0.03, 0.95) * span
            kind = rng.random()
            if kind < 0.4:
                found += routine.rollout(self.system, rng, service, at, routine.later_version(rng, service.version))
            elif kind < 0.8:
                found += routine.reload(self.system, rng, service, at, *routine.setting(rng))
            else:
                found += routine.restart(self.system, rng, service, at)
        return found
