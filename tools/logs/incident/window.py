"""When: the stretch of time in which trouble stands out, if there is one.

Each signal of trouble weighs by how bad its statement is and by the logarithm of how far it stands out, so that one
chatty statement does not drown the rest. Buckets that carry weight make episodes; the heaviest is the incident. Below a
threshold the answer is that there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

from enlist.tools.logs.signals.found import Grid
from enlist.tools.logs.signals.signal import Signal

ENOUGH = 3.0
"""Weight of trouble below which logs hold no incident; measured on streams without one."""
DOUBTFUL = 2.0
_TROUBLE = 0.3


@dataclass(frozen=True, slots=True)
class Episode:
    """A stretch of trouble: ns since the epoch, its weight, its signals by start."""

    start: int
    end: int
    weight: float
    signals: tuple[Signal, ...]


def weight(signal: Signal) -> float:
    """How much a signal adds to trouble."""
    if signal.kind in ("burst", "first_seen"):
        return signal.bad * log1p(max(0.0, signal.strength)) if signal.bad >= _TROUBLE else 0.0
    if signal.kind == "silence":
        return (0.8 if signal.value.get("whole_service") else 0.3) * log1p(signal.strength)
    if signal.kind == "shift":
        return 0.3 * log1p(signal.strength)
    return 0.0


def episode(signals: Sequence[Signal], at: Grid) -> Episode | None:
    """The heaviest stretch of trouble; None where nothing weighs."""
    heavy = [(s, w) for s in signals if (w := weight(s)) > 0]
    if not heavy:
        return None
    loads = [0.0] * at.n
    for signal, w in heavy:
        low, high = _buckets(signal, at)
        for b in range(low, high + 1):
            loads[b] += w / (high - low + 1) ** 0.5
    limit = 0.1 * max(loads)
    gap = max(2, at.n // 12)
    runs: list[tuple[int, int]] = []
    for b, load in enumerate(loads):
        if load < limit:
            continue
        if runs and b - runs[-1][1] <= gap:
            runs[-1] = runs[-1][0], b
        else:
            runs.append((b, b))
    best: Episode | None = None
    for low, high in runs:
        mine = [(s, w) for s, w in heavy if _buckets(s, at)[0] <= high and _buckets(s, at)[1] >= low]
        total = sum(w for _, w in mine)
        if best is None or total > best.weight:
            every = tuple(sorted((s for s, _ in mine), key=lambda s: (s.start, s.service, s.template)))
            best = Episode(min(s.start for s in every), max(s.end for s in every), total, every)
    return best


def _buckets(signal: Signal, at: Grid) -> tuple[int, int]:
    wide = at.per * at.width * 1_000_000_000
    origin = at.start(0)
    low, high = (signal.start - origin) // wide, (signal.end - origin) // wide
    return max(0, min(at.n - 1, low)), max(0, min(at.n - 1, high))
