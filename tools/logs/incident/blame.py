"""Where: which service the trouble began in.

Services that name others in their messages depend on them; a service that troubled ones complain about is nearer to
the cause than those that complain. So blame flows along mentions: a service has its own trouble, weighed by how early
it came, and a share of the trouble of those whose complaints name it; one that complains of others passes its own on.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from enlist.tools.logs.incident.window import Episode, weight
from enlist.tools.logs.signals.signal import Signal

_PASSED = 0.75


@dataclass(frozen=True, slots=True)
class Blame:
    """A service's share of blame and what it is made of; `onset`: start of its own first trouble, ns, None where it
    has none."""

    service: str
    share: float
    own: float
    blamed_by: tuple[str, ...]
    onset: int | None


class Mentions:
    """Which services the messages of others name.

    Args:
        services: every service of the logs.
    """

    def __init__(self, services: Iterable[str]) -> None:
        self._names = {_plain(s): s for s in services if len(s) >= 2}
        long = sorted(self._names, key=len, reverse=True)
        every = "|".join(map(_loose, long))
        self._pattern = re.compile(rf"(?i)(?<![A-Za-z0-9_])({every})(?![A-Za-z0-9])") if long else None

    def of(self, text: str, besides: str) -> set[str]:
        """Services that a text names, without the one that wrote it."""
        if self._pattern is None:
            return set()
        found = {self._names.get(_plain(m)) for m in self._pattern.findall(text)}
        return {name for name in found if name and name != besides}


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name).lower()


def _loose(plain: str) -> str:
    return r"[-_.]?".join(map(re.escape, plain))


def blames(episode: Episode, mentions: Mentions, texts: Mapping[str, Sequence[str]]) -> list[Blame]:
    """Services by blame, most first; shares add up to 1.

    Args:
        texts: by service, examples of everything it writes, from which dependencies are read.
    """
    own: dict[str, float] = {}
    onset: dict[str, int] = {}
    complaints: dict[str, dict[str, float]] = {}
    span = max(1, episode.end - episode.start)
    for signal in episode.signals:
        w = weight(signal)
        early = 1.0 - 0.6 * min(1.0, (signal.start - episode.start) / span)
        own[signal.service] = own.get(signal.service, 0.0) + w * early
        onset[signal.service] = min(signal.start, onset.get(signal.service, signal.start))
        for other in mentions.of(f"{signal.text} {signal.example}", signal.service):
            mine = complaints.setdefault(signal.service, {})
            mine[other] = mine.get(other, 0.0) + w * early
    depends = {s: set().union(*(mentions.of(t, s) for t in every), set()) for s, every in texts.items()}
    passed: dict[str, float] = {}
    blamed_by: dict[str, list[str]] = {}
    score = dict(own)
    for service, mine in sorted(complaints.items()):
        total = sum(mine.values())
        share = _PASSED * min(1.0, total / max(own[service], 1e-9)) * own[service]
        score[service] -= share
        for other, w in sorted(mine.items()):
            passed[other] = passed.get(other, 0.0) + share * w / total
            blamed_by.setdefault(other, []).append(service)
    for other, more in passed.items():
        score[other] = score.get(other, 0.0) + more
    for service in list(score):
        mine_at = onset.get(service, episode.end)
        earlier = any(d in own and onset[d] <= mine_at for d in depends.get(service, ()))
        if earlier and service not in blamed_by:
            score[service] *= 0.6
    whole = sum(score.values()) or 1.0
    made = [Blame(s, v / whole, own.get(s, 0.0), tuple(blamed_by.get(s, ())), onset.get(s)) for s, v in score.items()]
    return sorted(made, key=lambda b: (-b.share, b.service))


def earliest(signals: Iterable[Signal]) -> int | None:
    """Start of the first of some signals."""
    return min((s.start for s in signals), default=None)
