"""Physical lines of one log into records: which lines begin one, which go on with the one before.

A line goes on with the record before it, of the same stream, when it looks like a part of a stack trace or is
indented; or when it has no time stamp and lines of this log have one as a rule. A line that its writer cut goes on in
the next of its stream. The last record of each stream stays open until the next begins, over the end of a rotated part
too.
"""

import re
from collections.abc import Callable, Sequence
from typing import cast

from enlist.tools.logs.batch import COLUMNS, Accounting, Batch, Block, Source, TimeKind
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.piece import Piece
from enlist.tools.logs.framing.plain import Layout, Plain, untimed
from enlist.tools.logs.framing.structured import from_access, from_container, from_json, from_logfmt, from_syslog

_TRACE = re.compile(
    r"\s|\t|Caused by: |Suppressed: |Traceback \(most recent|The above exception|During handling of|goroutine \d+ \[|"
    r"created by |exit status \d+$|\.\.\. \d+ (?:more|common)|at [\w.$<>]+\(|[})\]]+[;,]?$|--- End of|[-=*^~]{3,}$")
_THROWN = re.compile(r"(?:Exception in thread \"[^\"]*\" )?(?:[\w$]+[.:]+)*[A-Z][\w$]*"
                     r"(?:Exception|Error|Throwable|Warning|Exit|Interrupt|Fault)\b(?:[:\s]|$)")
_FRAMES = re.compile(r"Traceback \(most recent|\s+File \"|\s+at |goroutine \d+ \[|panic:")
_RULE = 0.8
_STRETCH = 512
Reader = Callable[[str, Clock], Piece | None]


class Framer:
    """Reads the blocks of one log, all its rotated parts in order.

    Args:
        clock: makes the clock of a source.
        mapping: a reader that is tried before all others.
    """

    def __init__(self, account: Accounting, clock: Callable[[Source], Clock], mapping: Reader | None = None) -> None:
        self._account, self._make = account, clock
        self._source: Source | None = None
        self._plain, self._inner = Plain(), Plain()
        self._readers: list[Reader] = [from_container, from_json, from_syslog, from_access, from_logfmt]
        self._mapping = mapping
        self._last: Reader | None = None
        self._timed = self._begun = 0
        self._open: dict[str, int] = {}
        self._cut: dict[str, int] = {}
        self._frames: dict[str, bool] = {}
        self._batch: Batch | None = None
        self._done: list[Batch] = []

    def feed(self, block: Block) -> list[Batch]:
        """Records that end in this block."""
        if self._source is None or self._source.id != block.source.id:
            self._source, self._clock = block.source, self._make(block.source)
        if self._batch is None:
            self._batch = Batch(block.source)
        self._lines(block.numbers, block.offsets, block.texts)
        done, self._done = [*self._done, *self._flush(keep=True)], []
        return done

    def stated(self, source: Source) -> Callable[[str], int | None]:
        """Tells of a line of a source the time that it states with its year, or None."""
        self._source, self._clock = source, self._make(source)

        def time_of(text: str) -> int | None:
            piece = self._read(text)
            return piece.time if piece is not None and piece.how != "year-inferred" else None

        return time_of

    def opens(self, source: Source) -> Callable[[str], bool]:
        """Tells of a line of a source whether it begins a record whatever stands before it, with a time in full."""
        self._source, self._clock = source, self._make(source)

        def begins(text: str) -> bool:
            piece = None if text[:1].isspace() else self._read(text)
            layout = self._plain.layout
            return (piece is not None and piece.how in ("stated", "zone-assumed") and not piece.inner
                    and not (self._last is None and layout is not None and layout.form.name == "either"))

        return begins

    def timed(self) -> None:
        """What comes stands in the middle of a log whose lines have a time as a rule."""
        self._timed = self._begun = 8

    def finish(self) -> list[Batch]:
        """What is still open."""
        return self._flush(keep=False)

    def _lines(self, numbers: list[int], offsets: list[int], texts: list[str]) -> None:
        """Lines one by one, and stretches of plain ones in the layout of the last at once."""
        at, end = 0, len(texts)
        while at < end:
            layout = self._plain.layout
            if layout is None or self._last is not None or self._mapping is not None:
                self._line(numbers[at], offsets[at], texts[at])
                at += 1
                continue
            begin, matches = at, self._plain.many(texts[at:at + _STRETCH])
            while at < begin + len(matches) and self._plain.layout is layout and self._last is None:
                rest = matches[at - begin:]
                alike = 0 if self._cut else rest.index(None) if None in rest else len(rest)
                read = self._clock.many(rest[:alike], layout.form)
                self._many(layout, rest[:len(read)], read, numbers[at:at + len(read)], offsets[at:at + len(read)])
                at += len(read)
                if len(read) < len(rest):
                    self._line(numbers[at], offsets[at], texts[at])
                    at += 1

    def _many(self, layout: Layout, matches: Sequence[re.Match[str] | None], read: list[tuple[int, TimeKind]],
              numbers: list[int], offsets: list[int]) -> None:
        """Records of one line each."""
        source, n = self._source, len(numbers)
        if source is None or not n:
            return
        batch = self._current(source)
        found = cast(Sequence[re.Match[str]], matches)
        batch.line += numbers
        batch.lines += [1] * n
        batch.byte += offsets
        batch.time += [t for t, _ in read]
        batch.how += [how for _, how in read]
        batch.level += layout.grades(found)
        own = source.service or ""
        batch.service += [m[layout.tag] or own for m in found] if layout.tag else [own] * n
        batch.stream += [""] * n
        batch.message += map(layout.message, found)
        batch.rest += [""] * n
        batch.fields += [None] * n
        self._open[""] = len(batch) - 1
        self._frames[""] = False
        self._begun += n
        self._timed += n
        self._account.records += n

    def _line(self, number: int, offset: int, text: str) -> None:
        piece = self._read(text)
        stream = piece.stream if piece else ""
        body = text if piece is None else piece.message
        if stream in self._cut:
            self._join(self._cut[stream], number, body)
            if piece is None or not piece.cut:
                del self._cut[stream]
            return
        if (piece is None or piece.inner) and self._goes_on(stream, body, piece is not None):
            self._append(stream, number, body)
            return
        if piece is None:
            piece = untimed(text)
        elif piece.inner:
            piece = self._unwrapped(piece)
        if piece.time is not None:
            self._timed += 1
        else:
            self._account.move("record", "unparsed")
        self._begin(number, offset, stream, piece)

    def _read(self, text: str) -> Piece | None:
        if self._mapping is not None and (piece := self._mapping(text, self._clock)):
            return piece
        if self._last is not None and (piece := self._last(text, self._clock)):
            return piece
        if not text.startswith("{") and (piece := self._plain.again(text, self._clock)):
            return piece
        for reader in self._readers:
            if reader is not self._last and (piece := reader(text, self._clock)):
                self._last = reader
                return piece
        return self._plain.read(text, self._clock)

    def _unwrapped(self, piece: Piece) -> Piece:
        """A container's line without the envelope that its program wrote."""
        text, clock = piece.message, self._clock
        inner = (from_json(text, clock) or from_access(text, clock) or from_logfmt(text, clock)
                 or self._inner.read(text, clock) or untimed(text))
        if piece.time is not None:
            inner.time, inner.how = piece.time, piece.how
        inner.stream, inner.cut = piece.stream, piece.cut
        return inner

    def _goes_on(self, stream: str, text: str, timed: bool) -> bool:
        if stream not in self._open:
            return False
        if _TRACE.match(text):
            self._frames[stream] = self._frames.get(stream, False) or bool(_FRAMES.match(text))
            return True
        if _THROWN.match(text) and (not timed or self._frames.get(stream)):
            return True
        if self._frames.get(stream) and text.startswith(("panic", "goroutine", "main.", "runtime.", "net/", "[signal")):
            return True
        return not timed and self._begun > 3 and self._timed >= _RULE * self._begun

    def _begin(self, number: int, offset: int, stream: str, piece: Piece) -> None:
        assert self._source is not None
        batch = self._current(self._source)
        self._begun += 1
        time, how = piece.time, piece.how
        if time is None and batch.time and batch.time[-1] is not None:
            time, how = batch.time[-1], "carried"
        self._open[stream] = len(batch)
        if piece.cut:
            self._cut[stream] = len(batch)
        self._frames[stream] = False
        batch.line.append(number)
        batch.lines.append(1)
        batch.byte.append(offset)
        batch.time.append(time)
        batch.how.append(how)
        batch.level.append(piece.level)
        batch.service.append(piece.service or (self._source.service if self._source else "") or "")
        batch.stream.append(stream)
        message, _, rest = piece.message.partition("\n")
        batch.message.append(message)
        batch.rest.append(rest)
        batch.fields.append(piece.fields)
        self._account.records += 1

    def _follow(self, numbers: list[int]) -> None:
        """The record that began last has these lines too."""
        if self._batch is not None and numbers:
            self._batch.lines[-1] += len(numbers)
            self._batch.more[len(self._batch) - 1] = numbers

    def _current(self, source: Source) -> Batch:
        """The batch for a record that begins in a source; records that were open in the part before end here."""
        if self._batch is None or self._batch.source.id != source.id:
            self._done += self._flush(keep=False)
            self._batch = Batch(source)
        return self._batch

    def _append(self, stream: str, number: int, text: str) -> None:
        batch, at = self._batch, self._open[stream]
        assert batch is not None
        batch.rest[at] = f"{batch.rest[at]}\n{text}" if batch.rest[at] else text
        self._more(at, number)
        self._account.move("record", "continuation")

    def _join(self, at: int, number: int, text: str) -> None:
        assert self._batch is not None
        self._batch.message[at] += text
        self._more(at, number)
        self._account.move("record", "partial")

    def _more(self, at: int, number: int) -> None:
        assert self._batch is not None
        self._batch.lines[at] += 1
        if self._source is not None and self._batch.source.id == self._source.id:
            self._batch.more.setdefault(at, []).append(number)

    def _flush(self, keep: bool) -> list[Batch]:
        """The batch without the records that are still open; those begin the next one."""
        batch = self._batch
        if batch is None:
            return []
        held = sorted(set(self._open.values()) | set(self._cut.values())) if keep else []
        fresh = Batch(batch.source)
        at = {old: new for new, old in enumerate(held)}
        for column in COLUMNS:
            values = getattr(batch, column)
            getattr(fresh, column).extend(values[i] for i in held)
            for i in reversed(held):
                del values[i]
        fresh.more = {at[i]: numbers for i, numbers in batch.more.items() if i in at}
        if held:
            kept = [i for i in range(len(batch) + len(held)) if i not in at]
            batch.more = {new: batch.more[old] for new, old in enumerate(kept) if old in batch.more}
        self._open = {s: at[i] for s, i in self._open.items() if i in at}
        self._cut = {s: at[i] for s, i in self._cut.items() if i in at}
        self._batch = fresh if keep else None
        return [batch] if len(batch) else []
