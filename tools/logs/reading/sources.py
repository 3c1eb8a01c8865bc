"""Paths into streams of lines: files, folders, archives, the standard input, in an order that depends on names only."""

import os
import stat
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from enlist.tools.logs.batch import Accounting, Block, Source
from enlist.tools.logs.reading.lines import blocks as blocks_of
from enlist.tools.logs.reading.names import in_order, rotation, service
from enlist.tools.logs.reading.openers import PIECE, Limits, Stream, packing, pieces, unpacked
from enlist.tools.logs.reading.text import encoding_of, is_binary
from enlist.tools.logs.reading.window import Part
from enlist.tools.runtime.errors import EnlistError

HEAD = 1 << 16


@dataclass(frozen=True)
class Found:
    """A file or a member of an archive: its name as shown, when it was changed, and how to open it again. `origin`: the
    path under which it is found again; None for what can be read only once."""

    name: str
    modified: float | None
    size: int | None
    path: Path | None
    opened: Callable[[], AbstractContextManager[Stream]]
    part: Part | None = None
    origin: str | None = None


def found(paths: Sequence[str | os.PathLike[str]], account: Accounting, limits: Limits) -> list[Found]:
    """Everything under some paths, parts of a rotated log together and oldest first; `-` is the standard input.

    Raises:
        EnlistError: `not_found` where a path does not exist; `bad_input` where it is no file or folder.
    """
    made: dict[str, Found] = {}
    for path in (os.fspath(p) for p in paths):
        for one in _under(path, account, limits):
            made.setdefault(one.name, one)
    return [made[name] for name in in_order(made)]


def read(every: Sequence[Found], account: Accounting, limits: Limits,
         numbers: Sequence[int] | None = None) -> Iterator[Block]:
    """Blocks of lines of sources in their order. A source that cannot be read to its end is noted; others come.

    Args:
        numbers: the ids of the sources; None: their places in the list.
    """
    for number, one in zip(numbers or range(len(every)), every, strict=True):
        try:
            if one.part is not None and one.path is not None:
                yield from _read_part(number, one, one.path, one.part, account, limits)
                continue
            with one.opened() as stream:
                yield from _read_one(number, one, stream, account, limits)
        except EnlistError as error:
            account.note(one.name, str(error))
        except OSError as error:
            account.skip(one.name, f"cannot be read: {error.strerror or error}")


def _read_one(number: int, one: Found, stream: Stream, account: Accounting, limits: Limits) -> Iterator[Block]:
    head, ended = first(stream)
    if not head:
        account.skip(one.name, "empty")
        return
    zeros = 0
    while not ended and not head.strip(b"\x00"):  # what a writer leaves whose file was emptied under it
        zeros += len(head)
        head, ended = first(stream)
    if zeros and head:
        account.bytes_read += zeros
        account.note(one.name, f"begins with {zeros} zero bytes, which were passed over")
    if is_binary(head) or not head:
        account.skip(one.name, "binary: no text in it")
        return
    encoding, mark = encoding_of(head, whole=ended)
    if b"\n" not in head and head[mark:].lstrip()[:1] in (b"{", b"["):
        limits = replace(limits, line=max(limits.line, limits.document))
    source = Source(number, one.name, service(rotation(one.name)[0]), encoding, one.modified)

    def whole() -> Iterator[bytes]:
        yield head
        yield from pieces(stream, False, limits)

    yield from blocks_of(source, mark, whole(), limits, account, first_byte=zeros)


def _read_part(number: int, one: Found, path: Path, part: Part, account: Accounting,
               limits: Limits) -> Iterator[Block]:
    with open(path, "rb") as file:
        encoding, mark = encoding_of(file.read(HEAD))
        source = Source(number, one.name, service(rotation(one.name)[0]), encoding, one.modified)
        file.seek(part.first)

        def within() -> Iterator[bytes]:
            left = part.stop - part.first
            while left > 0 and (piece := file.read(min(PIECE, left))):
                left -= len(piece)
                yield piece

        if part.outside:
            account.note(one.name, f"{part.outside} bytes outside the window were not read")
        mark = mark if part.first == 0 else 0
        yield from blocks_of(source, mark, within(), limits, account, first_line=part.line, first_byte=part.first)


def first(stream: Stream) -> tuple[bytes, bool]:
    """The first bytes of a stream, and whether it ends with them."""
    got = b""
    while len(got) < HEAD:
        more = stream.read1(HEAD - len(got))
        if not more:
            return got, True
        got += more
    return got, False


def _under(path: str, account: Accounting, limits: Limits) -> Iterator[Found]:
    if path == "-":
        yield Found("-", None, None, None, _standard_input)
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise EnlistError("not_found", "no such file or folder", given=path,
                          fix="give a file, a folder, an archive or -") from None
    except OSError as error:
        raise EnlistError("bad_input", f"cannot be read: {error.strerror}", given=path) from None
    if stat.S_ISDIR(mode):
        for folder, folders, files in os.walk(path):
            folders.sort()
            for file in sorted(files):
                inner = os.path.join(folder, file)
                if os.path.isfile(inner):
                    yield from _file(inner, account, limits)
                else:
                    account.skip(inner, "no regular file")
    elif stat.S_ISREG(mode):
        yield from _file(path, account, limits)
    elif stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        yield Found(path, None, None, None, lambda: cast(AbstractContextManager[Stream], open(path, "rb")))  # noqa: SIM115
    else:
        raise EnlistError("bad_input", "is no file, folder or pipe", given=path)


@contextmanager
def _standard_input() -> Iterator[Stream]:
    yield cast(Stream, sys.stdin.buffer)


def _file(path: str, account: Accounting, limits: Limits) -> Iterator[Found]:
    try:
        with open(path, "rb") as file:
            head = file.read(512)
            info = os.fstat(file.fileno())
    except OSError as error:
        account.skip(path, f"cannot be read: {error.strerror}")
        return
    how = packing(head)
    if how == "zip":
        yield from _zip(path, account, limits)
        return
    if how == "tar" or (how != "plain" and _holds_tar(path, how)):
        yield from _tar(path, how, account, limits)
        return

    @contextmanager
    def opened() -> Iterator[Stream]:
        with open(path, "rb") as raw:
            if how == "plain":
                yield raw
            else:
                with unpacked(raw, how) as stream:
                    yield Guarded(stream, limits, raw)

    noted = int.from_bytes(head[4:8], "little") if how == "gzip" else 0  # when what was packed had last been changed
    yield Found(path, noted or info.st_mtime, info.st_size, Path(path) if how == "plain" else None, opened,
                origin=path)


class Guarded:
    """A packed stream that is refused when it grows like a bomb or turns out to be damaged."""

    def __init__(self, stream: Stream, limits: Limits, raw: BinaryIO | None) -> None:
        self._pieces = pieces(stream, True, limits, raw)
        self._left = b""

    def read1(self, size: int = -1, /) -> bytes:
        if not self._left:
            self._left = next(self._pieces, b"")
        piece, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        return piece


def _holds_tar(path: str, how: str) -> bool:
    try:
        with open(path, "rb") as raw, unpacked(raw, how) as stream:
            head = b""
            while len(head) < 512 and (more := stream.read1(512 - len(head))):
                head += more
        return packing(head) == "tar"
    except Exception:  # damaged: said when it is read
        return False


def _tar(path: str, how: str, account: Accounting, limits: Limits) -> Iterator[Found]:
    """Members of a tar, each read from where it stands. A compressed one is unpacked once, into a file without a
    name, so that its members can be read in any order; what a damaged one still gives is read."""
    whole: BinaryIO = open(path, "rb") if how == "plain" else _unpacked_once(path, how, account, limits)  # noqa: SIM115
    members: list[tarfile.TarInfo] = []
    try:
        with tarfile.open(fileobj=whole, mode="r:") as archive:
            for member in archive:
                if len(members) >= limits.members:
                    raise EnlistError("resource_limit", f"has more than {limits.members} members", given=path)
                if member.isfile():
                    members.append(member)
                elif not member.isdir():
                    account.skip(f"{path}!{member.name}", "a link or a device in an archive")
    except (tarfile.TarError, EOFError) as error:
        account.note(path, f"the archive ends early or is damaged: {error}")
    except EnlistError as error:
        account.note(path, str(error))
    for member in members:
        yield Found(f"{path}!{member.name}", float(member.mtime), member.size, None,
                    _tar_member(whole, member, limits), origin=path)


def _unpacked_once(path: str, how: str, account: Accounting, limits: Limits) -> BinaryIO:
    file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 (open as long as its members may be read)
    try:
        with open(path, "rb") as raw, unpacked(raw, how) as stream:
            for piece in pieces(stream, True, limits, raw):
                file.write(piece)
    except EnlistError as error:
        account.note(path, str(error))
    file.flush()
    file.seek(0)
    return file


def _tar_member(whole: BinaryIO, member: tarfile.TarInfo, limits: Limits
                ) -> Callable[[], AbstractContextManager[Stream]]:
    @contextmanager
    def opened() -> Iterator[Stream]:
        with _again(_Slice(whole, member.offset_data, member.size), limits) as lines:
            yield lines

    return opened


class _Slice:
    """Some bytes of a file, read without moving it."""

    def __init__(self, file: BinaryIO, first: int, size: int) -> None:
        self._file, self._at, self._stop = file, first, first + size

    def read1(self, size: int = -1, /) -> bytes:
        left = self._stop - self._at
        piece = os.pread(self._file.fileno(), left if size < 0 else min(size, left), self._at)
        self._at += len(piece)
        return piece


def _zip(path: str, account: Accounting, limits: Limits) -> Iterator[Found]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        account.skip(path, f"a damaged zip archive: {error}")
        return
    if len(members) > limits.members:
        raise EnlistError("resource_limit", f"has more than {limits.members} members", given=path)
    for member in members:
        if member.flag_bits & 1:
            account.skip(f"{path}!{member.filename}", "encrypted")
        else:
            name = member.filename
            yield Found(f"{path}!{name}", None, member.file_size, None, _zip_member(path, name, limits),
                        origin=path)


def _zip_member(path: str, name: str, limits: Limits) -> Callable[[], AbstractContextManager[Stream]]:
    @contextmanager
    def opened() -> Iterator[Stream]:
        with (open(path, "rb") as raw, zipfile.ZipFile(raw) as archive, archive.open(name) as member,
              _again(Guarded(cast(Stream, member), limits, raw), limits) as stream):
            yield stream

    return opened


@contextmanager
def _again(stream: Stream, limits: Limits) -> Iterator[Stream]:
    """A member of an archive that is itself compressed, unpacked."""
    head, _ = first(stream)
    joined = _Joined(head, stream)
    how = packing(head[:512])
    if how in ("plain", "tar", "zip"):
        yield joined
    else:
        with unpacked(joined, how) as inner:
            yield Guarded(inner, limits, None)


class _Joined:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, stream: Stream) -> None:
        self._head, self._stream = head, stream

    def read1(self, size: int = -1, /) -> bytes:
        if not self._head:
            return self._stream.read1(size if size >= 0 else 1 << 20)
        piece, self._head = (self._head, b"") if size < 0 else (self._head[:size], self._head[size:])
        return piece

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            got = []
            while piece := self.read1(1 << 20):
                got.append(piece)
            return b"".join(got)
        return self.read1(size)
