"""Where a stretch of time lies in a large plain file whose lines are in order: found by bisection, not by reading it
all.

A file qualifies where sixteen probes of it are in order of time, each with a year of its own. Lines somewhat out of
order at the edges are kept by a margin. Line numbers need the line ends before the window to be counted, which takes
the speed of the disk and no more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

PROBE = 1 << 16
LEAST = 4 << 20
_PROBES = 16
_MARGIN = 60 * 1_000_000_000
_PIECE = 1 << 22
TimeOf = Callable[[str], int | None]
"""ns since the epoch that a line states in full, with its year; None where it states none."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes `first` to `stop` of a file, the first of which begins line `line`; `outside`: bytes of the file
    that lie in no part, to be told once."""

    first: int
    stop: int
    line: int
    outside: int = 0


def part(path: Path, low: int | None, high: int | None, time_of: TimeOf) -> Part | None:
    """The part of a file that holds all lines of a window; None where the whole file has to be read.

    Args:
        low, high: ns since the epoch; None: open.
    """
    size = path.stat().st_size
    if size < LEAST or (low is None and high is None):
        return None
    with open(path, "rb") as file:
        def at(byte: int) -> tuple[int, int] | None:
            file.seek(byte)
            return _first_time(file.read(PROBE), byte, time_of)

        known = [at(size * k // _PROBES) for k in range(_PROBES)]
        times = [one[1] for one in known if one is not None]
        if len(times) < _PROBES or any(b < a - _MARGIN for a, b in pairwise(times)):
            return None
        first = 0 if low is None else _before(at, size, low - _MARGIN)
        stop = size if high is None else _after(at, size, high + _MARGIN)
        stop = max(first, stop)
        return Part(first, stop, 1 + _line_ends(path, first), size - (stop - first))


def _first_time(data: bytes, byte: int, time_of: TimeOf) -> tuple[int, int] | None:
    """(byte, time) of the first whole line with a time in some data read at `byte`."""
    begin = 0 if byte == 0 else data.find(b"\n") + 1
    if byte and not begin:
        return None
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        time = time_of(data[begin:end].decode("utf-8", "replace").rstrip("\r"))
        if time is not None:
            return byte + begin, time
        begin = end + 1
    return None


def _before(at: Callable[[int], tuple[int, int] | None], size: int, low: int) -> int:
    """A byte that begins a line, before which every line is older than `low`."""
    under, over = 0, size
    while over - under > PROBE:
        middle = (under + over) // 2
        got = at(middle)
        if got is None or got[1] >= low:
            over = middle
        else:
            under = middle
    got = at(under)
    return got[0] if under and got is not None else 0


def _after(at: Callable[[int], tuple[int, int] | None], size: int, high: int) -> int:
    """A byte that ends a line, after which every line is younger than `high`."""
    under, over = 0, size
    while over - under > PROBE:
        middle = (under + over) // 2
        got = at(middle)
        if got is not None and got[1] <= high:
            under = middle
        else:
            over = middle
    got = at(over) if over < size else None
    return got[0] if got is not None else size


def _line_ends(path: Path, before: int) -> int:
    count = 0
    with open(path, "rb") as file:
        left = before
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            count += piece.count(b"\n")
            left -= len(piece)
    return count
