"""When: the stretch of time in which trouble stands out, if there is one.

Every service grumbles all the time. An incident is many statements of trouble at once that are not usual together: for
each bucket the logarithms of how often each of them was said are added up, which keeps one chatty statement from
drowning the rest; what is usual of these sums (median and spread over the buckets) is taken off, and the stretch with
the largest sum of what is left is the incident. Below a threshold there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p

from enlist.tools.logs.signals.found import Grid, badness, quantile
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.tally import Series

ENOUGH = 15.0
"""Excess of trouble below which logs hold no incident; measured on streams without one."""
DOUBTFUL = 11.0
_SAID = 0.35
"""How bad a statement must be to count."""
_USUAL = 1.5
_INSIDE = 0.6
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Episode:
    """A stretch of trouble: ns since the epoch, its excess, and the statements that belong to it.

    Attributes:
        signals: those of trouble that lie for the most part inside, by start.
    """

    start: int
    end: int
    weight: float
    signals: tuple[Signal, ...]


def loads(series: Mapping[tuple[str, int], Series], texts: Mapping[int, str], at: Grid) -> list[float]:
    """Trouble by bucket: the sum over statements of how bad each is times the logarithm of its records beyond its
    usual."""
    out = [0.0] * at.n
    for (_, template), one in sorted(series.items()):
        bad = badness(template, texts[template], one)
        if bad < _SAID or not one.counts:
            continue
        counts = [0] * at.n
        for slot, n in one.counts.items():
            counts[at.bucket(slot)] += n
        usual = quantile(counts, 0.5)
        for bucket, n in enumerate(counts):
            if n > usual:
                out[bucket] += bad * log1p(n - usual)
    return out


def stretch(load: Sequence[float]) -> tuple[int, int, float]:
    """First and last bucket of the stretch with the largest excess, and the excess."""
    middle = quantile(load, 0.5)
    spread = quantile([abs(x - middle) for x in load], 0.5)
    usual = middle + _USUAL * (spread + 0.3)
    best, low, high = 0.0, 0, -1
    run, begin = 0.0, 0
    for bucket, x in enumerate(load):
        if run <= 0:
            run, begin = 0.0, bucket
        run += x - usual
        if run > best:
            best, low, high = run, begin, bucket
    return low, high, best


def episode(signals: Sequence[Signal], series: Mapping[tuple[str, int], Series], texts: Mapping[int, str],
            at: Grid) -> Episode | None:
    """The heaviest stretch of trouble; None where nothing stands out."""
    low, high, weight = stretch(loads(series, texts, at))
    if high < low:
        return None
    wide = at.per * at.width * _NS
    begin, end = at.start(low) - wide, at.start(high + 1) + wide
    inside = [s for s in signals if troubling(s) and begin <= s.start <= end and _share(s, begin, end) >= _INSIDE]
    if not inside:
        return None
    firm = [s for s in inside if s.count >= 3] or inside
    return Episode(min(s.start for s in firm), max(s.end for s in firm), weight,
                   tuple(sorted(inside, key=lambda s: (s.start, s.service, s.template))))


def troubling(signal: Signal) -> bool:
    """Whether a signal is one of trouble."""
    if signal.kind in ("burst", "first_seen"):
        return signal.bad >= _SAID
    if signal.kind == "silence":
        return bool(signal.value.get("whole_service"))
    return signal.kind == "rare" and signal.bad >= 0.6


def _share(signal: Signal, begin: int, end: int) -> float:
    """Which part of all records of the statement lies inside, by the lines that are known."""
    if not signal.times:
        return 1.0
    return signal.share * sum(begin <= t <= end for t in signal.times) / len(signal.times)
