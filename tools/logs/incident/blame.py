"""Where: which service the trouble began in.

Services complain about those that they depend on, by name. Blame starts where trouble is written and flows along
complaints: what a service writes of another's failing is passed on to the other, what it writes of its own stays.
After a few rounds most of the blame lies where complaints end. What complaints name need not have written anything: a
database without logs, a provider outside.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log1p

from enlist.tools.logs.incident.window import Episode
from enlist.tools.logs.signals.signal import Signal

_ROUNDS = 6
_COMPLAINS, _PASSED = 0.25, 0.9
_HOST = re.compile(r"(?<![\w./@-])(?:https?://)?([a-z][a-z0-9-]{1,40}(?:\.[a-z][a-z0-9-]{1,40}){1,4})(?::\d+)?"
                   r"(?![\w-]|\.\w)")
_DOMAIN = re.compile(r"\.(?:com|net|org|io|dev|app|cloud|co|eu|de|uk|us|ai|info|biz|edu|gov|mil|int|example|test|"
                     r"invalid|internal|intern|local|localdomain|lan|corp|home|svc|cluster|amazonaws|azure)$")


@dataclass(frozen=True, slots=True)
class Blame:
    """A service's share of blame and what it is made of.

    Attributes:
        own: weight of the trouble that it writes itself.
        blamed_by: services whose complaints name it.
        onset: start of its first trouble, its own or told of it, ns.
    """

    service: str
    share: float
    own: float
    blamed_by: tuple[str, ...]
    onset: int | None


class Mentions:
    """Which services, and hosts outside, the messages of others name.

    Args:
        services: every service of the logs.
    """

    def __init__(self, services: Iterable[str]) -> None:
        self._names = {_plain(s): s for s in services if len(s) >= 2}
        long = sorted(self._names, key=len, reverse=True)
        every = "|".join(map(_loose, long))
        self._pattern = re.compile(rf"(?i)(?<![A-Za-z0-9_])({every})(?![A-Za-z0-9])") if long else None

    def of(self, text: str, besides: str) -> set[str]:
        """Services and hosts that a text names, without the one that wrote it."""
        found: set[str] = set()
        if self._pattern is not None:
            found = {self._names[p] for m in self._pattern.findall(text) if (p := _plain(m)) in self._names}
        for host in _HOST.findall(text):
            first = self._names.get(_plain(host.split(".")[0]))
            if first is not None:
                found.add(first)
            elif _DOMAIN.search(host) and _plain(host) not in self._names:
                found.add(host)
        return {name for name in found if name != besides}


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name).lower()


def _loose(plain: str) -> str:
    return r"[-_.]?".join(map(re.escape, plain))


def weight(signal: Signal) -> float:
    """How much a signal adds to blame."""
    return signal.bad * log1p(signal.count) if signal.kind != "silence" else 1.0


def blames(episode: Episode, mentions: Mentions) -> list[Blame]:
    """Services by blame, most first; shares add up to 1."""
    own: dict[str, float] = {}
    onset: dict[str, int] = {}
    told: dict[str, dict[str, float]] = {}
    for signal in episode.signals:
        w = weight(signal)
        named = mentions.of(f"{signal.text} {signal.example}", signal.service)
        own[signal.service] = own.get(signal.service, 0.0) + w
        for service in (signal.service, *named):
            onset[service] = min(signal.start, onset.get(service, signal.start))
        for other in named:
            mine = told.setdefault(signal.service, {})
            mine[other] = mine.get(other, 0.0) + w / len(named)
    score = dict(own)
    for _ in range(_ROUNDS):
        score = _passed(score, own, told)
    whole = sum(score.values()) or 1.0
    blamed_by = {o: tuple(sorted(s for s, mine in told.items() if o in mine)) for mine in told.values() for o in mine}
    made = [Blame(s, v / whole, own.get(s, 0.0), blamed_by.get(s, ()), onset.get(s)) for s, v in score.items()]
    return sorted(made, key=lambda b: (-b.share, b.service))


def _passed(score: Mapping[str, float], own: Mapping[str, float],
            told: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """One round: each service keeps the part of its score that is trouble of its own and passes on the rest. One that
    complains much passes on what names nobody too: failed requests are what its own clients see of the other's."""
    out: dict[str, float] = {}
    for service, value in score.items():
        mine = told.get(service, {})
        total = sum(mine.values())
        part = total / max(own.get(service, 0.0), 1e-9)
        passed = value * (_PASSED if part >= _COMPLAINS else part) if mine else 0.0
        out[service] = out.get(service, 0.0) + value - passed
        for other, w in mine.items():
            out[other] = out.get(other, 0.0) + passed * w / total
    return out


def first_complaints(episode: Episode, mentions: Mentions) -> dict[str, Signal]:
    """By service its first statement of trouble that names another, else its first."""
    out: dict[str, Signal] = {}
    for signal in episode.signals:
        named = mentions.of(f"{signal.text} {signal.example}", signal.service)
        known = out.get(signal.service)
        if known is None or (named and not mentions.of(f"{known.text} {known.example}", known.service)):
            out[signal.service] = signal
    return out
