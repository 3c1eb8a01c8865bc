"""Records out of a journal's export: lines of `KEY=value`, one entry after the other, each begun by the same key.

A value with line ends or other bytes is written as the key alone on a line, eight bytes of length, then the value; the
reader has taken the length for junk before the text, so what follows up to the next key is the value.
"""

import re
from collections.abc import Callable

from enlist.tools.logs.batch import Accounting, Batch, Block, Source
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.frames import Framer
from enlist.tools.logs.framing.structured import of_fields

_PAIR = re.compile(r"([A-Z_][A-Z0-9_]{0,63})=(.*)", re.DOTALL)
_KEY = re.compile(r"[A-Z_][A-Z0-9_]{0,63}$")
_FIRST = re.compile(r"__CURSOR=|__REALTIME_TIMESTAMP=\d+$")


def is_export(texts: list[str]) -> bool:
    """Whether a log that begins with some lines is a journal's export."""
    return bool(_FIRST.match(texts[0]))


class Entries(Framer):
    """Reads one export."""

    def __init__(self, account: Accounting, clock: Callable[[Source], Clock]) -> None:
        super().__init__(account, clock)
        self._fields: dict[str, str] = {}
        self._first = self._long = ""
        self._at = (0, 0)
        self._following: list[int] = []

    def feed(self, block: Block) -> list[Batch]:
        """Entries that end in this block; an entry does not go on in another file."""
        if self._source is not None and self._source.id != block.source.id:
            self._close()
        return super().feed(block)

    def finish(self) -> list[Batch]:
        """The last entry."""
        self._close()
        return super().finish()

    def _lines(self, numbers: list[int], offsets: list[int], texts: list[str]) -> None:
        for number, offset, text in zip(numbers, offsets, texts, strict=True):
            pair = _PAIR.match(text)
            key = pair[1] if pair else ""
            self._first = self._first or key
            if not self._fields or key == self._first:
                self._close()
                self._at, self._following, self._long = (number, offset), [], ""
            else:
                self._following.append(number)
                self._account.move("record", "continuation")
            if pair:
                self._fields[key], self._long = pair[2], ""
            elif self._long:
                known = self._fields[self._long]
                self._fields[self._long] = f"{known}\n{text}" if known else text
            else:
                self._long = text if _KEY.match(text) else "MESSAGE"
                self._fields.setdefault(self._long, "" if _KEY.match(text) else text)

    def _close(self) -> None:
        if self._fields:
            piece = of_fields(dict(sorted(self._fields.items())), self._clock)
            if piece.time is None:
                self._account.move("record", "unparsed")
            self._begin(*self._at, "", piece)
            self._follow(self._following)
            self._fields = {}
