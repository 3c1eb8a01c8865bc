"""One stream of bytes into blocks of lines, in constant memory.

A piece is cut at its last line end and the rest is carried over. A line longer than the limit is kept to the limit;
what follows is dropped up to its end and counted in the notes.
"""

import codecs
from collections.abc import Iterable, Iterator
from typing import Protocol

from enlist.tools.logs.batch import Accounting, Block, Category, Source
from enlist.tools.logs.reading.openers import Limits
from enlist.tools.logs.reading.text import clean, readable, starts


def blocks(source: Source, mark: int, pieces: Iterable[bytes], limits: Limits, account: Accounting, *,
           first_line: int = 1, first_byte: int = 0) -> Iterator[Block]:
    """Blocks of lines of a stream.

    Args:
        mark: bytes of the byte-order mark that the first piece begins with.
        pieces: the stream, the mark included.
        first_line, first_byte: where the stream begins in its file, when it does not begin at its start.
    """
    reader = lines_of(source, limits, account)
    reader.number, reader.offset = first_line, first_byte + mark
    skip = mark
    for piece in pieces:
        account.bytes_read += len(piece)
        data = piece[skip:]
        skip = max(0, skip - len(piece))
        yield from reader.feed(data)
    yield from reader.finish()


class Lines(Protocol):
    """Cuts the bytes of one stream into lines as they come."""

    number: int
    offset: int

    def feed(self, data: bytes, /) -> Iterator[Block]: ...

    def finish(self) -> Iterator[Block]: ...


def lines_of(source: Source, limits: Limits, account: Accounting) -> Lines:
    """What cuts a stream of a source's encoding into lines."""
    kind = _Wide if source.encoding.startswith("utf-16") else _Narrow
    return kind(source, limits, account)


class _Narrow:
    """Encodings in which a line end is one byte and no other character holds that byte."""

    def __init__(self, source: Source, limits: Limits, account: Accounting) -> None:
        self.source, self.limits, self.account = source, limits, account
        self.number, self.offset = 1, 0
        self.left: list[bytes] = []
        self.held = 0  # bytes of the line that has not ended, those beyond the limit included

    def feed(self, data: bytes) -> Iterator[Block]:
        end = data.rfind(b"\n")
        if end < 0:
            self._hold(data)
            return
        whole, rest = data[:end], data[end + 1:]
        if self.held:
            cut = whole.find(b"\n")
            yield from self._close(whole if cut < 0 else whole[:cut])
            if cut < 0:
                whole = b""
                self._hold(rest)
                return
            whole = whole[cut + 1:]
        yield from self._lines(whole.split(b"\n"))
        self._hold(rest)

    def finish(self) -> Iterator[Block]:
        if self.held:
            yield from self._close(b"")

    def _hold(self, data: bytes) -> None:
        room = self.limits.line - sum(map(len, self.left))
        if data and room > 0:
            self.left.append(data[:room])
        self.held += len(data)

    def _close(self, end: bytes) -> Iterator[Block]:
        """The line that was held ends here."""
        self._hold(end)
        kept, length = b"".join(self.left), self.held
        self.left, self.held = [], 0
        if length > len(kept):
            yield from self._long(kept, length)
        else:
            yield from self._lines([kept])

    def _long(self, kept: bytes, length: int) -> Iterator[Block]:
        self.account.note(self.source.name, f"line {self.number} has {length} bytes; the first {len(kept)} were read")
        block = self._block([kept], [self.offset], "too_long")
        self.number, self.offset = self.number + 1, self.offset + length + 1
        if block.texts:
            yield block

    def _lines(self, raw: list[bytes]) -> Iterator[Block]:
        lengths = list(map(len, raw))
        offsets = starts(lengths, self.offset)
        if max(lengths) > self.limits.line:
            for line, length in zip(raw, lengths, strict=True):
                if length > self.limits.line:
                    yield from self._long(line[:self.limits.line], length)
                else:
                    yield from self._lines([line])
            return
        block = self._block(raw, offsets, "record")
        self.number, self.offset = self.number + len(raw), offsets[-1] + lengths[-1] + 1
        if block.texts:
            yield block

    def _block(self, raw: list[bytes], offsets: list[int], category: Category) -> Block:
        joined = b"\n".join(raw)
        numbers = list(range(self.number, self.number + len(raw)))
        if not joined.isascii() or b"\x00" in joined or b"\x1b" in joined or b"\x07" in joined:
            kept = [readable(line) if b"\x00" in line else line for line in raw]
            if None in kept:
                self.account.count("binary", kept.count(None))
                sound = [i for i, line in enumerate(kept) if line is not None]
                numbers, offsets = [numbers[i] for i in sound], [offsets[i] for i in sound]
            joined = b"\n".join(line for line in kept if line is not None)
            if not numbers:
                return Block(self.source, [], [], [])
        text = joined.decode(self.source.encoding, "replace")
        if not joined.isascii():
            self.account.replaced += text.count("\ufffd")
        texts = text.split("\n")
        if "\r" in text or "\x1b" in text:
            texts = list(map(clean, texts))
        return without_blanks(Block(self.source, numbers, offsets, texts), self.account, category)


class _Wide:
    """UTF-16: decoded before it is cut into lines."""

    def __init__(self, source: Source, limits: Limits, account: Accounting) -> None:
        self.source, self.limits, self.account = source, limits, account
        self.number, self.offset = 1, 0
        self.decoder = codecs.getincrementaldecoder(source.encoding)("replace")
        self.left = ""
        self.dropped = 0  # bytes of the line that has not ended, beyond the limit

    def feed(self, data: bytes) -> Iterator[Block]:
        yield from self._take(self.decoder.decode(data), last=False)

    def finish(self) -> Iterator[Block]:
        yield from self._take(self.decoder.decode(b"", True), last=True)

    def _take(self, text: str, last: bool) -> Iterator[Block]:
        most = self.limits.line // 2
        if len(self.left) > most and not last:  # only its end is of interest now
            self.dropped += _size(beyond := text.partition("\n")[0])
            text = text[len(beyond):]
            if not text:
                return
        texts = (self.left + text).split("\n")
        self.left = "" if last else texts.pop()
        if last and texts == [""]:
            return
        sizes = list(map(_size, texts))
        if sizes:
            sizes[0] += self.dropped
            self.dropped = 0
        offsets = starts(sizes, self.offset, 2)
        numbers = list(range(self.number, self.number + len(texts)))
        for number, line in zip(numbers, texts, strict=True):
            if len(line) > most:
                self.account.note(self.source.name, f"line {number} has {len(line)} characters; {most} were read")
        if texts:
            self.number, self.offset = self.number + len(texts), offsets[-1] + sizes[-1] + 2
        self.account.replaced += sum(t.count("\ufffd") for t in texts)
        block = Block(self.source, numbers, offsets, [clean(t[:most]) for t in texts])
        block = without_blanks(block, self.account, "record")
        if block.texts:
            yield block


def _size(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass"))


def without_blanks(block: Block, account: Accounting, category: Category) -> Block:
    """The block without its blank lines; counts both, each line under `category` until framing knows better."""
    if "" not in block.texts and not any(map(str.isspace, block.texts)):
        account.count(category, len(block.texts))
        return block
    kept = [i for i, text in enumerate(block.texts) if text and not text.isspace()]
    account.count("blank", len(block.texts) - len(kept))
    account.count(category, len(kept))
    return Block(block.source, [block.numbers[i] for i in kept], [block.offsets[i] for i in kept],
                 [block.texts[i] for i in kept])
