"""Records out of tables: rows of comma-separated values, whose quoted fields may span lines.

A table is known by a first line that names a time and a message among its columns, or by rows of at least eight fields
the first of which is a time. Without names, the message is the first field of words after the level, else the longest.
"""

import csv
import re
from collections.abc import Callable

from enlist.tools.logs.batch import Accounting, Batch, Block, Source
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.frames import Framer
from enlist.tools.logs.framing.levels import level
from enlist.tools.logs.framing.piece import Piece
from enlist.tools.logs.framing.structured import MESSAGE_KEYS, TIME_KEYS, of_fields, stamp

_LEAST = 8
_MOST = 2000  # lines of one row
_WORDS = re.compile(r"[a-z]{2}")


def is_table(texts: list[str]) -> bool:
    """Whether a log that begins with some lines is a table."""
    if texts[0].count(",") < 2:
        return False
    first = _fields(texts[0])
    if _names(first):
        return True
    return len(first) >= _LEAST and stamp(first[0], Clock(0.0)) is not None


def _names(first: list[str]) -> bool:
    known = {name.strip().lower() for name in first}
    return bool(known & set(TIME_KEYS)) and bool(known & set(MESSAGE_KEYS))


def _fields(text: str) -> list[str]:
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return [text]


class Rows(Framer):
    """Reads one table."""

    def __init__(self, account: Accounting, clock: Callable[[Source], Clock]) -> None:
        super().__init__(account, clock)
        self._columns: list[str] | None = None
        self._row: list[str] = []
        self._at = (0, 0)
        self._following: list[int] = []

    def feed(self, block: Block) -> list[Batch]:
        """Rows that end in this block; a row does not go on in another file."""
        if self._source is not None and self._source.id != block.source.id:
            self._close()
        return super().feed(block)

    def finish(self) -> list[Batch]:
        """The last row."""
        self._close()
        return super().finish()

    def _lines(self, numbers: list[int], offsets: list[int], texts: list[str]) -> None:
        for number, offset, text in zip(numbers, offsets, texts, strict=True):
            if self._row and len(self._row) < _MOST and sum(t.count('"') for t in self._row) % 2:
                self._row.append(text)
                self._following.append(number)
                self._account.move("record", "continuation")
                continue
            self._close()
            self._row, self._at, self._following = [text], (number, offset), []

    def _close(self) -> None:
        if not self._row:
            return
        fields = _fields("\n".join(self._row)) if len(self._row) == 1 else _joined(self._row)
        if self._columns is None:
            self._columns = [name.strip() for name in fields] if _names(fields) else []
            piece = Piece("\n".join(self._row)) if self._columns else self._unnamed(fields)
        elif self._columns:
            piece = of_fields(dict(sorted(zip(self._columns, fields, strict=False))), self._clock)
        else:
            piece = self._unnamed(fields)
        if piece.time is None:
            self._account.move("record", "unparsed")
        self._begin(*self._at, "", piece)
        self._follow(self._following)
        self._row = []

    def _unnamed(self, fields: list[str]) -> Piece:
        time, how = stamp(fields[0], self._clock) or (None, "none")
        at = next((i for i, word in enumerate(fields) if word.isupper() and level(word)), -1)
        said = [word for word in fields[at + 1:] if _WORDS.search(word)] if at >= 0 else []
        message = said[0] if said else max(fields, key=len)
        others = {f"column {i + 1}": word for i, word in enumerate(fields[1:], 1) if word and word != message}
        return Piece(message, time, how, level(fields[at]) if at >= 0 else "", fields=others)


def _joined(lines: list[str]) -> list[str]:
    try:
        return next(csv.reader([f"{line}\n" for line in lines]), [])
    except csv.Error:
        return ["\n".join(lines)]
