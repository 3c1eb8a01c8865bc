"""Streams of bytes out of files, whatever they are packed in: recognised by their first bytes, never by their names.

Compression may be nested once in an archive (`logs.tar` of `app.log.gz`). Members of archives are read in place,
nothing is unpacked to disk, so paths that point out of the archive and links do no harm. What grows past the limits is
a bomb.
"""

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from enlist.tools.runtime.errors import EnlistError

PIECE = 1 << 20
_TAR_MAGIC = slice(257, 262)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one reading may take.

    Attributes:
        line: bytes of a line that are kept; the rest is counted.
        document: the same for a JSON document on one line.
        unpacked: bytes that one compressed source may grow to.
        ratio: growth past the first 64 MiB that no log has and a bomb does.
        members: files in one archive.
    """

    line: int = 1 << 20
    document: int = 1 << 25
    unpacked: int = 64 << 30
    ratio: int = 2_000
    members: int = 100_000


def packing(head: bytes) -> str:
    """gzip, zstd, xz, bz2, zip, tar, or plain, by a file's first 512 bytes."""
    for magic, name in ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\x00", "xz"),
                        (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip")):
        if head.startswith(magic):
            return name
    if head[:3] == b"BZh" and head[4:10] == b"1AY&SY":
        return "bz2"
    return "tar" if head[_TAR_MAGIC] == b"ustar" else "plain"


class Stream(Protocol):
    """What every kind of file gives: at most so many bytes, none at the end."""

    def read1(self, size: int = ..., /) -> bytes: ...


@contextmanager
def unpacked(raw: Stream, how: str) -> Iterator[Stream]:
    """The decompressed stream of a file that is open at its start."""
    if how == "gzip":
        with gzip.GzipFile(fileobj=cast(BinaryIO, raw)) as stream:
            yield stream
    elif how == "bz2":
        with bz2.BZ2File(cast(BinaryIO, raw)) as packed:
            yield packed
    elif how == "xz":
        with lzma.LZMAFile(cast(BinaryIO, raw)) as slow:
            yield slow
    elif how == "zstd":
        yield _Zstandard(raw)
    else:
        yield raw


class _Zstandard:
    """Frames of zstd, one after the other; the library's own reader takes a frame that is cut for one that ended."""

    def __init__(self, raw: Stream) -> None:
        import zstandard

        self._raw, self._opener = raw, zstandard.ZstdDecompressor()
        self._frame = self._opener.decompressobj()
        self._packed = self._text = b""
        self._begun = False

    def read1(self, size: int = -1, /) -> bytes:
        while not self._text:
            if not self._packed:
                self._packed = self._raw.read1(1 << 14)
            if not self._packed:
                if self._begun:
                    raise EOFError("a frame is not complete")
                return b""
            self._begun = True
            self._text, self._packed = self._frame.decompress(self._packed), b""
            if self._frame.eof:
                self._packed, self._begun = self._frame.unused_data, False
                self._frame = self._opener.decompressobj()
        piece, self._text = (self._text, b"") if size < 0 else (self._text[:size], self._text[size:])
        return piece


def pieces(stream: Stream, packed: bool, limits: Limits, tell: BinaryIO | None = None) -> Iterator[bytes]:
    """The stream in pieces of 1 MiB.

    Raises:
        EnlistError: `bad_input` where the packed data end early or are damaged (what could be read was yielded);
            `resource_limit` where they grow like a bomb.
    """
    total = 0
    while True:
        try:
            piece = stream.read1(PIECE)
        except (EOFError, zlib.error, lzma.LZMAError, OSError, tarfile.ReadError, zipfile.BadZipFile) as error:
            raise EnlistError("bad_input", f"the data end early or are damaged after {total} bytes: {error}",
                              fix="read as far as it goes; copy the file again for the rest") from None
        except Exception as error:  # zstandard raises its own
            if type(error).__module__.split(".")[0] not in ("zstandard", "_zstd"):
                raise
            raise EnlistError("bad_input", f"the data end early or are damaged after {total} bytes: {error}",
                              fix="read as far as it goes; copy the file again for the rest") from None
        if not piece:
            return
        total += len(piece)
        if packed:
            _refuse_bombs(total, limits, tell)
        yield piece


def _refuse_bombs(total: int, limits: Limits, tell: BinaryIO | None) -> None:
    if total > limits.unpacked:
        raise EnlistError("resource_limit", f"grows past {limits.unpacked} bytes when unpacked",
                          fix="unpack it yourself and give the part that matters")
    if tell is not None and total > 64 << 20 and total > limits.ratio * max(1, tell.tell()):
        raise EnlistError("resource_limit", f"grows more than {limits.ratio} times when unpacked, as a bomb does",
                          fix="unpack it yourself if it is a log")
