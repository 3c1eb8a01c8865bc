"""One pass over logs: records are read, framed, given their shapes and counted, shard by shard, and merged."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from enlist.tools.logs.batch import Accounting, Batch, Source
from enlist.tools.logs.clock.context import Stated, stated
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing import Framer, batches
from enlist.tools.logs.framing.mapping import Mapping
from enlist.tools.logs.reading import Found, Limits, found, read
from enlist.tools.logs.reading.window import Part, part
from enlist.tools.logs.shards import SHARD, Shard, over_ray, shards, spread
from enlist.tools.logs.signals.tally import Tally
from enlist.tools.logs.templates.miner import Miner

_SAMPLED = 50
_SMALL = 4 << 20  # bytes of a shard where time is short


@dataclass(frozen=True)
class Options:
    """What of the logs counts.

    Attributes:
        since, until: ns since the epoch; records outside are read and not counted.
        service: only records of this service.
        offset: seconds east of UTC of stamps without a zone.
        mapping: a user's own way of writing.
    """

    since: int | None = None
    until: int | None = None
    service: str | None = None
    offset: int = 0
    limits: Limits = field(default_factory=Limits)
    mapping: Mapping | None = None


@dataclass
class Counted:
    """What one pass over logs, or over a part of them, comes to; parts merge exactly."""

    account: Accounting = field(default_factory=Accounting)
    miner: Miner = field(default_factory=Miner)
    tally: Tally = field(default_factory=Tally)
    sources: dict[int, Source] = field(default_factory=dict)
    left_out: int = 0
    cut_short: bool = False

    def add(self, batch: Batch, options: Options) -> None:
        """Count a batch of records."""
        self.sources[batch.source.id] = batch.source
        if options.since is not None or options.until is not None or options.service is not None:
            batch = self._chosen(batch, options)
        if len(batch):
            self.tally.add(batch, self.miner.add(batch.message), self.miner.outcome)

    def merge(self, other: "Counted") -> None:
        """Add what was counted of other sources, or of another part of the same."""
        self.account.merge(other.account)
        self.sources.update(other.sources)
        self.left_out += other.left_out
        self.tally.merge(other.tally, dict(enumerate(self.miner.merge(other.miner))))

    def _chosen(self, batch: Batch, options: Options) -> Batch:
        low, high = options.since or -(1 << 62), options.until or 1 << 62
        keep = [i for i in range(len(batch)) if (batch.time[i] is None or low <= (batch.time[i] or 0) <= high)
                and (options.service is None or batch.service[i] == options.service)]
        self.left_out += len(batch) - len(keep)
        return batch.only(keep)


@dataclass(frozen=True)
class Job:
    """A shard as it travels to another process: sources by the path under which each is found again, and its name."""

    sources: tuple[tuple[str, str, Part | None], ...]
    numbers: tuple[int, ...]
    middle: bool
    known: Stated | None
    options: Options

    def shard(self) -> Shard:
        """The shard, its sources found again."""
        named: dict[str, Found] = {}
        for origin in dict.fromkeys(origin for origin, _, _ in self.sources):
            named.update((one.name, one) for one in found([origin], Accounting(), self.options.limits))
        every = tuple(replace(named[name], part=part) for _, name, part in self.sources)
        return Shard(every, self.numbers, self.middle)


def counted(every: Sequence[Found], account: Accounting, options: Options,
            progress: Callable[[int], None] | None = None, workers: int = 1, until: float | None = None) -> Counted:
    """Count sources shard by shard and put it together; what cannot be opened elsewhere is read here.

    Args:
        account: what was noted when the sources were found.
        until: `time.perf_counter()` at which to stop.
    """
    known = known_of(every, options)
    cut = shards(every, options.offset, SHARD if until is None else _SMALL, options.mapping is None)
    total = Counted(account)
    made: dict[int, Counted] = {}
    seen = 0
    for place, one in _each(cut, known, options, progress, workers, until):
        made[place] = one
        seen += one.account.bytes_read
        if progress is not None:
            progress(seen)
    for place in sorted(made):
        total.merge(made[place])
    if len(made) < len(cut) or any(one.cut_short for one in made.values()):
        whole = sum(shard.size for shard in cut)
        account.note("all", f"{100 * min(1.0, seen / max(1, whole)):.0f} % was read in the time given: a sample of "
                            f"{len(made)} of {len(cut)} stretches, spread over all")
    return total


def _each(cut: Sequence[Shard], known: Stated | None, options: Options, progress: Callable[[int], None] | None,
          workers: int, until: float | None) -> Iterator[tuple[int, Counted]]:
    place_of = {id(shard): place for place, shard in enumerate(cut)}
    if workers > 1 and until is None:
        away = [shard for shard in cut if all(one.origin is not None for one in shard.every)]
        jobs = [Job(tuple((one.origin or "", one.name, one.part) for one in shard.every), shard.numbers, shard.middle,
                    known, options) for shard in away]
        yield from zip((place_of[id(shard)] for shard in away), over_ray(count_job, jobs, workers), strict=True)
        cut = [shard for shard in cut if any(one.origin is None for one in shard.every)]
    before = 0
    for shard in cut if until is None else spread(cut):
        if until is not None and time.perf_counter() >= until and before:
            return
        one = count(shard, known, options, None if progress is None else _further(progress, before), until)
        before += one.account.bytes_read
        yield place_of[id(shard)], one


def _further(progress: Callable[[int], None], before: int) -> Callable[[int], None]:
    return lambda read: progress(before + read)


def count_job(job: Job) -> Counted:
    """Count a shard in another process."""
    return count(job.shard(), job.known, job.options)


def count(shard: Shard, known: Stated | None, options: Options, progress: Callable[[int], None] | None = None,
          until: float | None = None) -> Counted:
    """Count one shard."""
    made = Counted()
    for batch in _records(shard, known, made.account, options):
        made.add(batch, options)
        if progress is not None:
            progress(made.account.bytes_read)
        if until is not None and time.perf_counter() >= until:
            made.cut_short = True
            break
    return made


def windowed(one: Found, options: Options) -> Found:
    """A source of which only the part in the window will be read, where that can be told without reading it."""
    if one.path is None or options.mapping is not None:
        return one
    framer = Framer(Accounting(), lambda source: Clock(source.modified, options.offset))
    where = part(one.path, options.since, options.until, framer.stated(Source(0, one.name, modified=one.modified)))
    return one if where is None else replace(one, part=where)


def records(every: Sequence[Found], account: Accounting, options: Options) -> Iterable[Batch]:
    """Records of some sources; years that one does not write are those of the others."""
    return _records(Shard(tuple(every), tuple(range(len(every)))), known_of(every, options), account, options)


def known_of(every: Sequence[Found], options: Options) -> Stated | None:
    """The span of time that sources state in full."""
    return stated(t for one in every for t in _sampled(one, options))


def _records(shard: Shard, known: Stated | None, account: Accounting, options: Options) -> Iterable[Batch]:
    def clock(source: Source) -> Clock:
        return Clock(known.modified(source.modified) if known else source.modified, options.offset)

    return batches(read(shard.every, account, options.limits, shard.numbers), account, clock, shard.middle,
                   options.mapping)


def _sampled(one: Found, options: Options) -> list[int]:
    """Times that the first lines of a source state in full; none of a stream that can be read only once."""
    if one.modified is None and one.size is None:
        return []
    account, times = Accounting(), list[int]()
    for batch in batches(islice(read([one], account, options.limits), 1), account,
                         mapping=options.mapping):
        times += [t for t, how in zip(batch.time[:_SAMPLED], batch.how, strict=False)
                  if t is not None and how in ("stated", "zone-assumed")]
    return times
