"""Signals out of series: each statement of each service against its own baseline.

The span of the logs is cut into at most `BUCKETS` buckets. The baseline of a statement is a low quantile of its counts
per bucket (an incident may fill more than half of what was attached), so that a burst is what exceeds it by more than
a Poisson count would: z = (n - m) / sqrt(m + 1). Nothing here knows what a word means but the weight of trouble in
`words`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from enlist.tools.logs.batch import Ref
from enlist.tools.logs.signals.signal import Kind, Signal
from enlist.tools.logs.signals.tally import MICRO, Series
from enlist.tools.logs.signals.words import trouble

BUCKETS = 120
_NS = 1_000_000_000
_BURST, _LEAST, _WARM = 5.0, 4, 0.04
_RARE = 12
_KEPT = 12


@dataclass(frozen=True, slots=True)
class Grid:
    """Buckets of time over the whole span: `first` slice, slices in a bucket, number of buckets, seconds in a slice."""

    first: int
    per: int
    n: int
    width: int

    def bucket(self, slot: int) -> int:
        return (slot - self.first) // self.per

    def start(self, bucket: int) -> int:
        """ns since the epoch at which a bucket begins."""
        return (self.first + bucket * self.per) * self.width * _NS


def grid(series: Mapping[tuple[str, int], Series], width: int) -> Grid | None:
    """The buckets of all series; None where no record has a time."""
    slots = [slot for one in series.values() for slot in (min(one.counts, default=None), max(one.counts, default=None))
             if slot is not None]
    if not slots:
        return None
    first, last = min(slots), max(slots)
    per = max(1, -(-(last - first + 1) // BUCKETS))
    return Grid(first, per, -(-(last - first + 1) // per), width)


def signals(series: Mapping[tuple[str, int], Series], texts: Mapping[int, str], at: Grid) -> list[Signal]:
    """All signals, by start."""
    out: list[Signal] = []
    alive = _alive(series, at)
    for (service, template), one in series.items():
        if not one.counts:
            continue
        counts = [0] * at.n
        for slot, n in one.counts.items():
            counts[at.bucket(slot)] += n
        bad = badness(template, texts[template], one)
        made = _Maker(service, template, texts[template], bad, one, at)
        out += _bursts(made, counts)
        out += _silences(made, counts, alive[service])
        out += _shifts(made)
        if one.total <= _RARE:
            out.append(made.rare())
    return sorted(out, key=lambda s: (s.start, s.service, s.template, s.kind))


def badness(template: int, text: str, one: Series) -> float:
    """How much the records of a series tell of trouble, in [0, 1]; those that failed by their outcome do so surely."""
    return max(trouble(text, one.levels, one.total), 0.8 if template < 0 else 0.0)


class _Maker:
    """Makes the signals of one series."""

    def __init__(self, service: str, template: int, text: str, bad: float, one: Series, at: Grid) -> None:
        self.service, self.template, self.text, self.bad, self.one, self.at = service, template, text, bad, one, at

    def over(self, kind: Kind, first: int, last: int, strength: float, count: int, value: dict[str, float]) -> Signal:
        """A signal over buckets `first` to `last`."""
        at = self.at
        slots = sorted(s for s in self.one.refs if first <= at.bucket(s) <= last)
        if not slots:
            return Signal(kind, self.service, self.template, self.text, at.start(first), at.start(last + 1), strength,
                          self.bad, count, self._lines(), self._example(), dict(value))
        start, end = self.one.times[slots[0]][0], self.one.times[slots[-1]][1]
        kept = slots if len(slots) <= _KEPT else [*slots[:_KEPT - 1], slots[-1]]
        return Signal(kind, self.service, self.template, self.text, start, end, strength, self.bad, count,
                      tuple(self.one.refs[s] for s in kept), self._example(), dict(value),
                      tuple(self.one.times[s][0] for s in kept), count / max(1, self.one.total))

    def rare(self) -> Signal:
        """All of a statement that is rare."""
        return self.over("rare", 0, self.at.n - 1, 1.0, self.one.total, {})

    def _lines(self) -> tuple[Ref, ...]:
        last = max(self.one.refs, default=None)
        return () if last is None else (self.one.refs[last],)

    def _example(self) -> str:
        return self.one.first[1] if self.one.first else self.text


def _alive(series: Mapping[tuple[str, int], Series], at: Grid) -> dict[str, list[int]]:
    """Records of each service by bucket."""
    out: dict[str, list[int]] = {}
    for (service, _), one in series.items():
        mine = out.setdefault(service, [0] * at.n)
        for slot, n in one.counts.items():
            mine[at.bucket(slot)] += n
    return out


def quantile(counts: Sequence[float], share: float) -> float:
    """The value below which a share of some counts lie, by the nearest rank."""
    ordered = sorted(counts)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def _bursts(made: _Maker, counts: list[int]) -> list[Signal]:
    at, one = made.at, made.one
    base = quantile(counts, 0.4)
    first = next(i for i, n in enumerate(counts) if n)
    fresh = first > _WARM * at.n and base == 0
    if fresh and made.bad >= 0.3 and one.total < _LEAST:
        return [made.over("first_seen", first, at.n - 1, float(one.total), one.total, {})]
    scores = [(n - base) / (base + 1) ** 0.5 for n in counts]
    out = []
    for low, high in _runs([z >= _BURST and n >= _LEAST for z, n in zip(scores, counts, strict=True)], at.n):
        count = sum(counts[low:high + 1])
        new = fresh and low <= first + 1
        out.append(made.over("first_seen" if new else "burst", first if new else low, high, max(scores[low:high + 1]),
                             count, {"baseline": base, "peak": float(max(counts[low:high + 1]))}))
    if not out and fresh and made.bad >= 0.3:
        return [made.over("first_seen", first, at.n - 1, float(one.total) ** 0.5, one.total, {})]
    return out


def _runs(hot: list[bool], n: int) -> list[tuple[int, int]]:
    """Stretches of hot buckets; those with small gaps between them are one."""
    gap = max(2, n // 20)
    out: list[tuple[int, int]] = []
    for i, is_hot in enumerate(hot):
        if is_hot and out and i - out[-1][1] <= gap:
            out[-1] = out[-1][0], i
        elif is_hot:
            out.append((i, i))
    return out


def _silences(made: _Maker, counts: list[int], alive: list[int]) -> list[Signal]:
    """Buckets in a row without a statement that otherwise is in nearly all of them."""
    base = quantile(counts, 0.4)
    if base < 3:
        return []
    out = []
    run = 0
    for i, n in enumerate([*counts, int(base)]):
        if n == 0:
            run += 1
            continue
        if run and run * base >= 12 and i - run > 0:
            whole = not any(alive[i - run:i])
            out.append(made.over("silence", i - run, i - 1, float(run * base) ** 0.5, 0,
                                 {"expected": run * base, "whole_service": float(whole)}))
        run = 0
    return out


def _shifts(made: _Maker) -> list[Signal]:
    """Numbers with a unit whose mean in a bucket moves far from its usual one, or that only climb."""
    out = []
    for _, by_slot in sorted(made.one.amounts.items()):
        sums: dict[int, tuple[int, int]] = {}
        for slot, (n, total, _) in by_slot.items():
            known = sums.get(made.at.bucket(slot), (0, 0))
            sums[made.at.bucket(slot)] = known[0] + n, known[1] + total
        means = {b: total / n / MICRO for b, (n, total) in sorted(sums.items())}
        if len(means) < 8:
            continue
        values = list(means.values())
        usual = sorted(values)[int(0.4 * len(values))]
        spread = sorted(abs(v - usual) for v in values)[len(values) // 2] + 0.02 * abs(usual) + 1e-9
        high = [b for b, v in means.items() if v > 3 * usual and v - usual > 8 * spread]
        if len(high) >= 2:
            top = max(means[b] for b in high)
            out.append(made.over("shift", high[0], high[-1], top / max(usual, 1e-9), len(high),
                                 {"usual": usual, "peak": top}))
        elif _climbs(values):
            out.append(made.over("growth", min(means), max(means), values[-1] / max(values[0], 1e-9), len(values),
                                 {"from": values[0], "to": values[-1]}))
    return out


def _climbs(values: list[float]) -> bool:
    """Whether numbers rise nearly all the way, by half at least."""
    top = max(values)
    ups = sum(b >= a for a, b in pairwise(values))
    late = values.index(top) > len(values) // 2
    return late and top > 1.5 * max(values[0], 1e-9) and ups >= 0.85 * (len(values) - 1)
