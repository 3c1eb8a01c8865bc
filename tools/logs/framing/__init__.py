"""Lines into records: envelopes taken off, lines of one record joined, times read, every line still accounted for."""

from collections.abc import Callable, Iterable, Iterator

from enlist.tools.logs.batch import Accounting, Batch, Block, Source
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.documents import Documents, is_document
from enlist.tools.logs.framing.entries import Entries, is_export
from enlist.tools.logs.framing.frames import Framer
from enlist.tools.logs.framing.mapping import Mapping
from enlist.tools.logs.framing.rows import Rows, is_table
from enlist.tools.logs.reading.names import rotation

__all__ = ["Framer", "batches", "framer_of"]


def batches(blocks: Iterable[Block], account: Accounting,
            clock: Callable[[Source], Clock] | None = None, timed: bool = False,
            mapping: Mapping | None = None) -> Iterator[Batch]:
    """Records of blocks that come source by source, the parts of a rotated log one after the other.

    Args:
        account: the one that the blocks were counted in.
        clock: makes the clock of a source, to say zones and years from outside; None: the file's own change time, UTC.
        timed: the first block stands in the middle of a log whose lines have a time as a rule.
        mapping: a user's own way of writing, tried before all others.
    """
    make = clock or (lambda source: Clock(source.modified))
    framer: Framer | None = None
    whole = ""
    for block in blocks:
        name = rotation(block.source.name)[0]
        if framer is None or name != whole:
            if framer is not None:
                yield from framer.finish()
            framer, whole = framer_of(block.texts)(account, make), name
            if mapping is not None:
                framer = Framer(account, make, mapping.read)
            if timed:
                framer.timed()
                timed = False
        yield from framer.feed(block)
    if framer is not None:
        yield from framer.finish()


def framer_of(texts: list[str]) -> type[Framer]:
    """Which kind of framer a log needs, by the lines it begins with."""
    for fits, kind in ((is_export, Entries), (is_document, Documents), (is_table, Rows)):
        if fits(texts):
            return kind
    return Framer
