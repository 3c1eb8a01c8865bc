"""The second route: cited lines read again from the bytes of a file, by nothing that the analysis was made with.

A reference is a byte in the decompressed stream. Files are opened by Python's own modules, decompressed as a whole
where they are packed, and cut at the byte that a claim names; the line there must hold what the claim says that it
holds.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError

_MOST = 4 << 30
_OPENERS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ\x00", lzma.decompress))
Verdict = tuple[bool | None, str]
"""Whether a line holds what it should (None: it could not be read), and its text or the reason."""


class Reader:
    """Lines by file name and byte.

    Args:
        paths: files by the name under which claims cite them.
    """

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._bytes = cache(self._whole)

    def line(self, file: str, byte: int) -> str:
        """The line that begins at a byte, without its end.

        Raises:
            EnlistError: `not_found` where there is no such file or byte; `bad_input` where it cannot be unpacked.
        """
        data = self._bytes(file)
        if not 0 <= byte < len(data):
            raise EnlistError("not_found", f"{file} has no byte {byte}")
        if byte and data[byte - 1:byte] != b"\n" and data[byte - 2:byte] not in (b"\n\x00", b"\x00\n") and byte > 3:
            raise EnlistError("not_found", f"no line of {file} begins at byte {byte}")
        end = data.find(b"\n", byte)
        raw = data[byte:end if end >= 0 else len(data)]
        wide = len(raw) > 3 and (raw[0::2].count(0) > len(raw) // 4 or raw[1::2].count(0) > len(raw) // 4)
        if wide:
            return raw.decode("utf-16-le" if raw[1::2].count(0) > raw[0::2].count(0) else "utf-16-be", "replace")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")

    def _whole(self, file: str) -> bytes:
        outer, _, member = file.partition("!")
        path = self._paths.get(file) or self._paths.get(outer)
        if path is None:
            raise EnlistError("not_found", "no such file among those given", given=file)
        if path.stat().st_size > _MOST:
            raise EnlistError("resource_limit", f"{file} is too large to be read as a whole")
        return _member(path.read_bytes(), member) if member else _unpacked(path.read_bytes())


def verdict(reader: Reader, file: str, byte: int, pieces: tuple[str, ...]) -> Verdict:
    """Whether the line at a byte holds some pieces of text in order."""
    try:
        text = reader.line(file, byte)
    except EnlistError as error:
        return (False if error.code == "not_found" else None), error.message
    except (OSError, EOFError, ValueError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile) as error:
        return None, f"{file} cannot be unpacked as a whole: {error}"
    plain = _uncoloured(text)
    rest = plain
    for piece in pieces:
        _, found, rest = rest.partition(piece)
        if not found:
            rest = plain.replace('\\"', '"').replace("\\\\", "\\")
            for again in pieces:
                _, found, rest = rest.partition(again)
                if not found:
                    return False, text
            break
    return True, text


def _uncoloured(text: str) -> str:
    out, at = [], 0
    while (begin := text.find("\x1b[", at)) >= 0:
        out.append(text[at:begin])
        at = begin + 2
        while at < len(text) and not "@" <= text[at] <= "~":
            at += 1
        at += 1
    return "".join([*out, text[at:]])


def _unpacked(data: bytes) -> bytes:
    for magic, opened in _OPENERS:
        if data.startswith(magic):
            return opened(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    return data


def _member(data: bytes, name: str) -> bytes:
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _unpacked(archive.read(name))
    with tarfile.open(fileobj=io.BytesIO(_unpacked(data))) as tar:
        inner = tar.extractfile(name)
        if inner is None:
            raise EnlistError("not_found", f"no such member: {name}")
        return _unpacked(inner.read())
