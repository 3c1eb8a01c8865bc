"""The words that the rooms of incident logs share: where lines come from, records by column, and the accounting.

A physical line is what stands between two line ends of the decompressed stream. Each is in exactly one category of
the accounting, so that nothing is dropped without a word. A record is one or more lines that a program wrote as one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Category = Literal["record", "continuation", "partial", "blank", "binary", "too_long", "unparsed"]
"""record: begins a record; continuation: belongs to the record before it; partial: a piece that its writer cut, joined
into one record; blank; binary: no text; too_long: kept to the limit and cut; unparsed: a record without a time."""
CATEGORIES: tuple[Category, ...] = get_args(Category)

TimeKind = Literal["stated", "zone-assumed", "year-inferred", "carried", "none"]
"""How a record's time is known: as written with its zone; with a zone that was assumed; with a year from context; that
of the record before; not at all."""

LEVELS = ("", "trace", "debug", "info", "warn", "error", "fatal")


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of lines.

    Attributes:
        id: position in the sorted list of sources.
        name: as shown: the path as given, or `archive.tar!member`.
        service: what wrote it, where the name tells; rotated parts of one log share it.
        encoding: of the text, found from its bytes.
        modified: seconds since the epoch, of the file or of the member of the archive.
    """

    id: int
    name: str
    service: str | None = None
    encoding: str = "utf-8"
    modified: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines that follow each other in one source: `texts` have no line end, no colour; `offsets` are bytes in the
    decompressed stream; `numbers` count from 1. Blank and binary lines are counted and left out."""

    source: Source
    numbers: list[int]
    offsets: list[int]
    texts: list[str]


@dataclass(slots=True)
class Accounting:
    """Where every line and byte went. `notes` are faults of single sources, worded for people, in order of reading."""

    lines_read: int = 0
    bytes_read: int = 0
    records: int = 0
    replaced: int = 0
    by_category: Counter[str] = field(default_factory=Counter)
    skipped: list[dict[str, str]] = field(default_factory=list)
    notes: list[dict[str, str]] = field(default_factory=list)

    def count(self, category: Category, lines: int = 1) -> None:
        """Count lines, each once in all its life."""
        self.lines_read += lines
        self.by_category[category] += lines

    def move(self, old: Category, new: Category, lines: int = 1) -> None:
        """Put lines that were counted before into another category."""
        self.by_category[old] -= lines
        self.by_category[new] += lines

    def note(self, source: str, text: str) -> None:
        self.notes.append({"file": source, "text": text})

    def skip(self, source: str, reason: str) -> None:
        """A whole source that was not read, and why."""
        self.skipped.append({"file": source, "reason": reason})

    def merge(self, other: "Accounting") -> None:
        """Add what another worker counted."""
        self.lines_read += other.lines_read
        self.bytes_read += other.bytes_read
        self.records += other.records
        self.replaced += other.replaced
        self.by_category.update(other.by_category)
        self.skipped += other.skipped
        self.notes += other.notes

    def balanced(self) -> bool:
        """Every line that was read is in a category."""
        return self.lines_read == sum(self.by_category.values())


@dataclass(slots=True)
class Batch:
    """Records of one source by column, all of one length, in the order of the source; what a column holds stands in
    `docs/incident-logs-design.md`. Times are nanoseconds since the epoch, UTC. `more` names the lines after the first
    of records that have several."""

    source: Source
    line: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    byte: list[int] = field(default_factory=list)
    time: list[int | None] = field(default_factory=list)
    how: list[TimeKind] = field(default_factory=list)
    level: list[str] = field(default_factory=list)
    service: list[str] = field(default_factory=list)
    stream: list[str] = field(default_factory=list)
    message: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    fields: list[Mapping[str, str] | None] = field(default_factory=list)
    more: dict[int, list[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.line)

    def only(self, kept: list[int]) -> "Batch":
        """The records at some places."""
        at = {old: new for new, old in enumerate(kept)}
        columns = {name: [getattr(self, name)[i] for i in kept] for name in COLUMNS}
        return Batch(self.source, **columns, more={at[i]: n for i, n in self.more.items() if i in at})


COLUMNS = ("line", "lines", "byte", "time", "how", "level", "service", "stream", "message", "rest", "fields")


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """One physical line: the source's id, its number from 1, its first byte in the decompressed stream."""

    source: int
    line: int
    byte: int
