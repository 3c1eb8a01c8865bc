"""Counts of records by service, statement and time, made in one pass and merged exactly.

A statement is a message's shape; shapes become templates when all of them are known. Time is cut into slices of a
power of two seconds, wide enough that the whole span has at most `SLICES` of them, so that the result is a function of
the set of records, whatever the order and however they were dealt out to workers.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from enlist.tools.logs.batch import Batch, Ref

SLICES = 4096
MICRO = 1_000_000
_NS = 1_000_000_000
_AMOUNT = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s?(ms|milliseconds?|us|µs|ns|secs?|seconds?|s|%|percent|[kKMGT]i?B|bytes|B)(?![\w])")
_UNIT = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "%": 1.0, "percent": 1.0, "bytes": 1.0, "B": 1.0}
_BIG = {"K": 1, "k": 1, "M": 2, "G": 3, "T": 4}
_BAD = ("error", "fatal")
_FAILED = "http:5xx"
_FIELD = re.compile(r"(?i)(?:^|[._])(?:\w*(?:latency|duration|elapsed|took|ms|seconds|secs|bytes|percent|pct|used|"
                    r"usage|depth|queue|pending|lag|size|heap|rss|mem|connections|active|retries|attempt))$")


@dataclass(slots=True)
class Series:
    """Records of one service with one statement.

    Attributes:
        counts: by slice of time.
        refs: the first line of each slice.
        levels: records by level.
        untimed: records without a time.
        example: the message of the first record, by reference.
        amounts: by name of a number with a unit and slice: how many, sum, largest, in millionths of seconds, bytes,
            per cent, or of what a field counts.
    """

    counts: Counter[int] = field(default_factory=Counter)
    refs: dict[int, Ref] = field(default_factory=dict)
    levels: Counter[str] = field(default_factory=Counter)
    untimed: int = 0
    first: tuple[Ref, str, str] | None = None
    times: dict[int, tuple[int, int]] = field(default_factory=dict)
    amounts: dict[str, dict[int, tuple[int, int, int]]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values()) + self.untimed

    def add_record(self, time: int | None, slot: int, ref: Ref, message: str, rest: str) -> None:
        """The reference and times of one record; it is counted apart, many at once."""
        if self.first is None or ref < self.first[0]:
            self.first = ref, message, rest
        if time is None:
            return
        if slot not in self.refs or ref < self.refs[slot]:
            self.refs[slot] = ref
        known = self.times.get(slot)
        self.times[slot] = (time, time) if known is None else (min(known[0], time), max(known[1], time))

    def add_amount(self, name: str, slot: int, value: float) -> None:
        by_slot = self.amounts.setdefault(name, {})
        parts = round(value * MICRO)  # whole numbers add up to the same in any order
        by_slot[slot] = _sum(by_slot.get(slot), (1, parts, parts))

    def coarser(self, factor: int) -> None:
        """The same in slices `factor` times as wide."""
        counts: Counter[int] = Counter()
        for slot, n in self.counts.items():
            counts[slot // factor] += n
        refs: dict[int, Ref] = {}
        for slot, ref in self.refs.items():
            wide = slot // factor
            refs[wide] = min(ref, refs.get(wide, ref))
        times: dict[int, tuple[int, int]] = {}
        for slot, (low, high) in self.times.items():
            known = times.get(slot // factor, (low, high))
            times[slot // factor] = min(low, known[0]), max(high, known[1])
        for name, by_slot in self.amounts.items():
            wider: dict[int, tuple[int, int, int]] = {}
            for slot, one in by_slot.items():
                wider[slot // factor] = _sum(wider.get(slot // factor), one)
            self.amounts[name] = wider
        self.counts, self.refs, self.times = counts, refs, times

    def moved(self, off: int, width: int) -> None:
        """Take `off` ns off every time, in slices of `width` seconds."""
        slots = round(off / (width * _NS))
        self.counts = Counter({slot - slots: n for slot, n in self.counts.items()})
        self.refs = {slot - slots: ref for slot, ref in self.refs.items()}
        self.times = {slot - slots: (low - off, high - off) for slot, (low, high) in self.times.items()}
        self.amounts = {name: {slot - slots: one for slot, one in by_slot.items()}
                        for name, by_slot in self.amounts.items()}

    def merge(self, other: "Series") -> None:
        """Add another worker's series in slices of the same width."""
        self.counts.update(other.counts)
        self.levels.update(other.levels)
        self.untimed += other.untimed
        for slot, ref in other.refs.items():
            self.refs[slot] = min(ref, self.refs.get(slot, ref))
        for slot, (low, high) in other.times.items():
            known = self.times.get(slot, (low, high))
            self.times[slot] = min(low, known[0]), max(high, known[1])
        if other.first and (self.first is None or other.first[0] < self.first[0]):
            self.first = other.first
        for name, by_slot in other.amounts.items():
            mine = self.amounts.setdefault(name, {})
            for slot, one in by_slot.items():
                mine[slot] = _sum(mine.get(slot), one)


def _sum(known: tuple[int, int, int] | None, one: tuple[int, int, int]) -> tuple[int, int, int]:
    return one if known is None else (known[0] + one[0], known[1] + one[1], max(known[2], one[2]))


class Tally:
    """Counts of the records of any number of sources. `series` is keyed by service and statement: twice the shape, and
    one more for records that failed by their level or outcome, which are counted apart."""

    def __init__(self) -> None:
        self.width = 1  # seconds in a slice
        self.low: int | None = None
        self.high: int | None = None
        self.series: dict[tuple[str, int], Series] = {}
        self.how: Counter[tuple[str, str]] = Counter()
        self._measured: dict[int, bool] = {}

    def add(self, batch: Batch, shapes: list[int], outcomes: Callable[[str, int], str] | None = None) -> None:
        """Count the records of a batch, given the shape of each message.

        Args:
            outcomes: the outcome that a message of a shape tells of, such as a status code.
        """
        shapes = _faceted(batch, shapes, outcomes)
        known = [t for t in batch.time if t is not None]
        if known:
            self._widen(min(known), max(known))
        self.how.update(zip(batch.service, batch.how, strict=True))
        wide = self.width * _NS
        slots = [-1 if t is None else t // wide for t in batch.time]
        source = batch.source.id
        for (service, shape, slot), n in Counter(zip(batch.service, shapes, slots, strict=True)).items():
            one = self._at(service, shape)
            if slot >= 0:
                one.counts[slot] += n
            else:
                one.untimed += n
        for (service, shape, word), n in Counter(zip(batch.service, shapes, batch.level, strict=True)).items():
            self._at(service, shape).levels[word] += n
        seen: dict[tuple[str, int, int], list[int]] = {}
        for i, key in enumerate(zip(batch.service, shapes, slots, strict=True)):
            places = seen.setdefault(key, [i, i])
            places[1] = i
        for (service, shape, slot), places in seen.items():
            one = self._at(service, shape)
            for i in set(places):
                ref = Ref(source, batch.line[i], batch.byte[i])
                one.add_record(batch.time[i], slot, ref, batch.message[i], batch.rest[i])
        self._amounts(batch, shapes, slots)

    def _at(self, service: str, shape: int) -> Series:
        key = service, shape
        found = self.series.get(key)
        if found is None:
            found = self.series[key] = Series()
        return found

    def _amounts(self, batch: Batch, shapes: list[int], slots: list[int]) -> None:
        for i, shape in enumerate(shapes):
            if slots[i] < 0:
                continue
            measured = self._measured.get(shape)
            if measured is None:
                measured = self._measured[shape] = bool(_AMOUNT.search(batch.message[i]))
            fields = batch.fields[i]
            if not measured and not fields:
                continue
            one = self._at(batch.service[i], shape)
            if measured:
                for k, match in enumerate(_AMOUNT.finditer(batch.message[i])):
                    one.add_amount(f"{k}:{_kind(match[2])}", slots[i], float(match[1]) * _scale(match[2]))
            if fields:
                self._fields(one, slots[i], fields)

    @staticmethod
    def _fields(one: Series, slot: int, fields: Mapping[str, str]) -> None:
        for name, value in fields.items():
            if _FIELD.search(name) and value and value[0].isdigit():
                try:
                    one.add_amount(name, slot, float(value))
                except ValueError:
                    if match := _AMOUNT.fullmatch(value):
                        one.add_amount(name, slot, float(match[1]) * _scale(match[2]))

    def _widen(self, low: int, high: int) -> None:
        self.low = low if self.low is None else min(low, self.low)
        self.high = high if self.high is None else max(high, self.high)
        self._at_least(width_for(self.low, self.high))

    def _at_least(self, width: int) -> None:
        if width > self.width:
            factor = width // self.width
            for one in self.series.values():
                one.coarser(factor)
            self.width = width

    def merge(self, other: "Tally", renumbered: Mapping[int, int]) -> None:
        """Add another worker's counts, whose shapes have other numbers."""
        if other.low is not None and other.high is not None:
            self._widen(other.low, other.high)
        other._at_least(self.width)
        self.how.update(other.how)
        for (service, shape), one in other.series.items():
            self._at(service, 2 * renumbered[shape // 2] + shape % 2).merge(one)

    def by_template(self, template_of: Iterable[int] | Mapping[int, int]) -> dict[tuple[str, int], Series]:
        """Series of (service, template), shapes of one template put together; ~template for records that failed."""
        table = template_of if isinstance(template_of, Mapping) else dict(enumerate(template_of))
        out: dict[tuple[str, int], Series] = {}
        for (service, shape), one in sorted(self.series.items()):
            template = table[shape // 2]
            out.setdefault((service, ~template if shape % 2 else template), Series()).merge(one)
        return out


def _faceted(batch: Batch, shapes: list[int], outcomes: Callable[[str, int], str] | None) -> list[int]:
    rows = zip(shapes, batch.level, batch.message, batch.fields, strict=True)
    return [2 * s + (level in _BAD or (outcomes is not None and outcomes(message, s) == _FAILED)
                     or (fields is not None and fields.get("status", "")[:1] == "5"))
            for s, level, message, fields in rows]


def width_for(low: int, high: int) -> int:
    """Seconds in a slice for a span of nanoseconds: a power of two."""
    width = 1
    while (high - low) // (width * _NS) >= SLICES:
        width *= 2
    return width


def _kind(unit: str) -> str:
    if unit in ("%", "percent"):
        return "share"
    return "bytes" if unit[-1:] == "B" or unit == "bytes" else "seconds"


def _scale(unit: str) -> float:
    if unit in _UNIT:
        return _UNIT[unit]
    if unit[-1] == "B":
        return float(1024 ** _BIG[unit[0]])
    return 1e-3 if unit.startswith("milli") else 1.0
