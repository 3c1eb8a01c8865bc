"""Logs to an incident model: reading, framing, templates, counting, signals, inference, and every claim read again."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from enlist.tools.logs.batch import Accounting, Batch, Ref, Source
from enlist.tools.logs.clock.context import shifts, stated
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing import Framer, batches
from enlist.tools.logs.incident.infer import infer
from enlist.tools.logs.incident.model import Incident
from enlist.tools.logs.reading import Found, Limits, found, read
from enlist.tools.logs.reading.window import part
from enlist.tools.logs.signals.found import Grid, grid, signals
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.tally import Series, Tally
from enlist.tools.logs.templates.miner import Miner

_SAMPLED = 50


@dataclass(frozen=True)
class Options:
    """What of the logs counts.

    Attributes:
        since, until: ns since the epoch; records outside are read and not counted.
        service: only records of this service.
        offset: seconds east of UTC of stamps without a zone.
    """

    since: int | None = None
    until: int | None = None
    service: str | None = None
    offset: int = 0
    limits: Limits = field(default_factory=Limits)


@dataclass
class Counted:
    """What one pass over logs, or over a part of them, comes to; parts merge exactly."""

    account: Accounting = field(default_factory=Accounting)
    miner: Miner = field(default_factory=Miner)
    tally: Tally = field(default_factory=Tally)
    sources: dict[int, Source] = field(default_factory=dict)
    left_out: int = 0

    def add(self, batch: Batch, options: Options) -> None:
        """Count a batch of records."""
        self.sources[batch.source.id] = batch.source
        if options.since is not None or options.until is not None or options.service is not None:
            batch = self._chosen(batch, options)
        if len(batch):
            self.tally.add(batch, self.miner.add(batch.message), self.miner.outcome)

    def _chosen(self, batch: Batch, options: Options) -> Batch:
        low, high = options.since or -(1 << 62), options.until or 1 << 62
        keep = [i for i in range(len(batch)) if (batch.time[i] is None or low <= (batch.time[i] or 0) <= high)
                and (options.service is None or batch.service[i] == options.service)]
        self.left_out += len(batch) - len(keep)
        return batch.only(keep)


@dataclass(frozen=True)
class Analysis:
    """An incident model with all it was made from; `cited` are the lines that its claims name, as they were read
    again."""

    incident: Incident
    cited: dict[Ref, str]
    account: Accounting
    sources: dict[int, Source]
    series: dict[tuple[str, int], Series]
    texts: dict[int, str]
    signals: list[Signal]
    grid: Grid | None
    seconds: float


def analyse(paths: Sequence[str | os.PathLike[str]], options: Options | None = None,
            progress: Callable[[int], None] | None = None) -> Analysis:
    """Read logs and say what happened.

    Args:
        progress: called with the bytes read so far.

    Raises:
        EnlistError: `not_found` or `bad_input` where a path cannot be read at all.
    """
    options = options or Options()
    begun = time.perf_counter()
    counted = Counted()
    every = [windowed(one, options) for one in found(paths, counted.account, options.limits)]
    for batch in records(every, counted.account, options):
        counted.add(batch, options)
        if progress is not None:
            progress(counted.account.bytes_read)
    return concluded(counted, every, options, begun)


def windowed(one: Found, options: Options) -> Found:
    """A source of which only the part in the window will be read, where that can be told without reading it."""
    if one.path is None:
        return one
    framer = Framer(Accounting(), lambda source: Clock(source.modified, options.offset))
    where = part(one.path, options.since, options.until, framer.stated(Source(0, one.name, modified=one.modified)))
    return one if where is None else replace(one, part=where)


def records(every: Sequence[Found], account: Accounting, options: Options) -> Iterable[Batch]:
    """Records of some sources; years that one does not write are those of the others."""
    known = stated(t for one in every for t in _sampled(one, options))

    def clock(source: Source) -> Clock:
        return Clock(known.modified(source.modified) if known else source.modified, options.offset)

    return batches(read(every, account, options.limits), account, clock)


def _sampled(one: Found, options: Options) -> list[int]:
    """Times that the first lines of a source state in full; none of a stream that can be read only once."""
    if one.modified is None and one.size is None:
        return []
    account, times = Accounting(), list[int]()
    for batch in batches(islice(read([one], account, options.limits), 1), account):
        times += [t for t, how in zip(batch.time[:_SAMPLED], batch.how, strict=False)
                  if t is not None and how in ("stated", "zone-assumed")]
    return times


def _aligned(series: dict[tuple[str, int], Series], tally: Tally) -> dict[str, int]:
    """Move services whose zone was assumed to where the others are; by how many seconds each was moved."""
    spans: dict[str, tuple[int, int]] = {}
    for (service, _), one in series.items():
        if one.times:
            low, high = min(t for t, _ in one.times.values()), max(t for _, t in one.times.values())
            known = spans.get(service, (low, high))
            spans[service] = min(low, known[0]), max(high, known[1])
    sure = [s for s in spans if 2 * tally.how[s, "stated"] > sum(n for (name, _), n in tally.how.items() if name == s)]
    moved = shifts(spans, sure)
    for (service, _), one in series.items():
        if service in moved:
            one.moved(moved[service], tally.width)
    return {service: off // 1_000_000_000 for service, off in moved.items()}


def concluded(counted: Counted, every: Sequence[Found], options: Options, begun: float) -> Analysis:
    """The end of an analysis, once everything is counted."""
    miner, tally = counted.miner, counted.tally
    miner.fit()
    shapes = {statement // 2 for _, statement in tally.series}
    template_of = {shape: miner.template_of(shape) for shape in shapes}
    series = tally.by_template(template_of)
    texts = {template: miner.text(template if template >= 0 else ~template) for _, template in series}
    for service, seconds in sorted(_aligned(series, tally).items()):
        counted.account.note(service, f"names no zone; lies {seconds} s beside the others and was moved by that")
    at = grid(series, tally.width)
    if at is None:
        incident, every_signal = Incident(None, unknown=("when: no record has a time",)), []
    else:
        every_signal = signals(series, texts, at)
        incident = infer(every_signal, series, texts, at)
    cited = seen_again({ref for claim in incident.claims for ref in claim.lines}, every, options)
    incident = verified(incident, cited)
    return Analysis(incident, cited, counted.account, counted.sources, series, texts, every_signal, at,
                    time.perf_counter() - begun)


def verified(incident: Incident, seen: Mapping[Ref, str]) -> Incident:
    """The incident with each claim marked: whether its lines, read again, hold what it says."""
    claims = tuple(replace(c, verified=bool(c.lines) and all(holds(seen.get(r), c.holds) for r in c.lines))
                   for c in incident.claims)
    return replace(incident, claims=claims)


def holds(text: str | None, pieces: Sequence[str]) -> bool:
    """Whether a line is there and holds some pieces of text one after the other, as they are or escaped as in JSON."""
    if text is None:
        return False
    return _in_order(text, pieces) or _in_order(text.replace('\\"', '"').replace("\\\\", "\\"), pieces)


def _in_order(text: str, pieces: Sequence[str]) -> bool:
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def seen_again(wanted: set[Ref], every: Sequence[Found], options: Options) -> dict[Ref, str]:
    """The text of each line that is where its reference says."""
    out: dict[Ref, str] = {}
    needed = {ref.source for ref in wanted}
    for number in sorted(needed):
        mine = {(ref.line, ref.byte): ref for ref in wanted if ref.source == number}
        if number >= len(every) or every[number].name == "-":
            continue
        last = max(line for line, _ in mine)
        account = Accounting()
        for block in read([every[number]], account, options.limits):
            for place in zip(block.numbers, block.offsets, block.texts, strict=True):
                if ref := mine.get(place[:2]):
                    out[ref] = place[2]
            if block.numbers and block.numbers[-1] >= last:
                break
    return out
