"""Logs cut into shards that are counted apart, one after the other or by Ray tasks, and merged exactly.

The cut is a function of the files alone, never of the number of workers, so that any number gives the same answer.
Small logs stand together; a large plain file is cut at lines that begin a record whatever stands before them,
which is known where its lines state their time in full; everything else stays whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, TypeVar

from enlist.tools.logs.batch import Accounting, Source
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing import Framer, framer_of
from enlist.tools.logs.reading import Found
from enlist.tools.logs.reading.names import rotation
from enlist.tools.logs.reading.window import PROBE, Part

SHARD = 64 << 20  # bytes
_GROWTH = 8  # of packed logs, about
_PROBES = 8
_PIECE = 1 << 22
Job = TypeVar("Job")
Result = TypeVar("Result")
_AHEAD = 64  # probes after a place, to find a line to cut at


@dataclass(frozen=True)
class Shard:
    """Sources that are counted together, with their numbers among all; `middle`: it begins in the middle of a log."""

    every: tuple[Found, ...]
    numbers: tuple[int, ...]
    middle: bool = False

    @property
    def size(self) -> int:
        """Bytes to read, about; 0 where it cannot be told."""
        return sum(one.part.stop - one.part.first if one.part else one.size or 0 for one in self.every)


def shards(every: Sequence[Found], offset: int = 0, size: int = SHARD,
           divide: bool = True) -> list[Shard]:
    """Cut sources into shards of about `size` bytes.

    Args:
        offset: seconds east of UTC of stamps without a zone.
        divide: cut large files too.
    """
    out: list[Shard] = []
    held: list[tuple[int, Found]] = []
    weight = 0
    numbered = list(enumerate(every))

    def close() -> None:
        nonlocal weight
        if held:
            out.append(Shard(tuple(one for _, one in held), tuple(number for number, _ in held)))
        held.clear()
        weight = 0

    for _, some in groupby(numbered, key=lambda pair: rotation(pair[1].name)[0]):
        group = list(some)
        cuts = _cuts(group[0][1], offset, size) if divide and len(group) == 1 else []
        if cuts:
            close()
            out += [Shard((replace(group[0][1], part=part),), (group[0][0],), middle=i > 0)
                    for i, part in enumerate(cuts)]
            continue
        mine = sum(_weight(one) for _, one in group)
        if weight + mine > size:
            close()
        held += group
        weight += mine
    close()
    return out


def _weight(one: Found) -> int:
    if one.part is not None:
        return one.part.stop - one.part.first
    return (one.size or 0) * (1 if one.path is not None or one.origin is None else _GROWTH)


def _cuts(one: Found, offset: int, size: int) -> list[Part]:
    """The parts of a large plain file; none where it has to stay whole."""
    if one.path is None or one.size is None or _weight(one) <= size:
        return []
    first, stop = (one.part.first, one.part.stop) if one.part else (0, one.size)
    line, outside = (one.part.line, one.part.outside) if one.part else (1, 0)
    begins = Framer(Accounting(), lambda source: Clock(source.modified, offset)).opens(
        Source(0, one.name, modified=one.modified))
    with open(one.path, "rb") as file:
        def after(byte: int) -> tuple[int, list[bool]]:
            """(where the first line at or after a byte begins that begins a record, what was seen of others)."""
            file.seek(byte)
            data = file.read(PROBE)
            at, seen = data.find(b"\n") + 1, list[bool]()
            while at and len(seen) < _AHEAD:
                end = data.find(b"\n", at)
                if end < 0:
                    break
                seen.append(begins(data[at:end].decode("utf-8", "replace").rstrip("\r")))
                if seen[-1]:
                    return byte + at, seen
                at = end + 1
            return -1, seen

        head = file.read(PROBE).split(b"\n")[:2]
        if framer_of([text.decode("utf-8", "replace") for text in head]) is not Framer:
            return []
        if any(after(first + (stop - first) * k // _PROBES)[0] < 0 for k in range(_PROBES)):
            return []
        places = [first]
        for k in range(1, round((stop - first) / size)):
            place, _ = after(first + k * size)
            if places[-1] < place < stop:
                places.append(place)
    if len(places) == 1:
        return []
    lines = _lines(one.path, places, line)
    return [Part(a, b, n, outside if i == 0 else 0)
            for i, ((a, b), n) in enumerate(zip(pairwise([*places, stop]), lines, strict=True))]


def _lines(path: Path, places: Sequence[int], first: int) -> list[int]:
    """The number of the line that begins at each place."""
    out = [first]
    with open(path, "rb") as file:
        file.seek(places[0])
        for begin, end in pairwise(places):
            left, count = end - begin, 0
            while left > 0 and (piece := file.read(min(_PIECE, left))):
                count += piece.count(b"\n")
                left -= len(piece)
            out.append(out[-1] + count)
    return out


def spread(some: Sequence[Shard]) -> list[Shard]:
    """The same shards in an order whose every begin is spread over all of them: that of their places' bits reversed."""
    bits = max(1, (len(some) - 1).bit_length())
    return [some[i] for i in sorted(range(len(some)), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))]


def over_ray(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    """What `work` gives for each job, in their order, at most `workers` at a time, as tasks of the Ray in use."""
    import ray

    task = ray.remote(num_cpus=1, max_retries=2)(work)
    running: list[Any] = [task.remote(job) for job in jobs[:workers]]
    for number in range(len(jobs)):
        yield ray.get(running[number])
        running[number] = None
        if len(running) < len(jobs):
            running.append(task.remote(jobs[len(running)]))
