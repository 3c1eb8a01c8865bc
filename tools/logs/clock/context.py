"""What the sources of one set of logs tell of each other's clocks.

A year that a source does not write is that of the sources beside it which do, rather than that of its file's last
change: files are copied. A zone that a source does not write is found where all of it lies a whole number of quarter
hours beside the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_DAY = 86_400
_NS = 1_000_000_000
_QUARTER = 900 * _NS
_FAR = 40 * _DAY
_WIDEST = 14 * 3600 * _NS


@dataclass(frozen=True, slots=True)
class Stated:
    """The span of the times that sources state in full, seconds since the epoch."""

    first: float
    last: float

    def modified(self, known: float | None) -> float:
        """When a source beside these was last written: as its file says, where that is near; else just after them."""
        if known is not None and self.first - _DAY <= known <= self.last + _FAR:
            return known
        return self.last + _DAY / 2


def stated(times: Iterable[int]) -> Stated | None:
    """The span of some full times (ns); None where there are none."""
    known = sorted(times)
    return Stated(known[0] / _NS, known[-1] / _NS) if known else None


def shifts(spans: Mapping[str, tuple[int, int]], sure: Sequence[str]) -> dict[str, int]:
    """Nanoseconds to take off each service whose zone was assumed, so that it lies beside the others.

    Args:
        spans: first and last time of each service, ns.
        sure: services that state their zone; without any nothing is moved.
    """
    sure = [s for s in sure if s in spans]
    if not sure:
        return {}
    first, last = _middle([spans[s][0] for s in sure]), _middle([spans[s][1] for s in sure])
    length = max(last - first, 1)
    out: dict[str, int] = {}
    for service, (low, high) in spans.items():
        if service in sure or high - low < length // 2:
            continue
        off = ((low - first) + (high - last)) // 2
        quarters = round(off / _QUARTER)
        moved = quarters * _QUARTER
        left = abs(low - moved - first) + abs(high - moved - last)
        if quarters and abs(moved) <= _WIDEST and 4 * left <= abs(low - first) + abs(high - last):
            out[service] = moved
    return out


def _middle(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]
