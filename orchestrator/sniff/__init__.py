"""Sniffing: what kinds of artifact a file is, by its content; its name only breaks ties.

`sniff` looks at the first 64 KiB and never raises on bytes. Kinds are those of `capabilities.yaml`, best first; what
nothing here can read has no kinds and a note that says why.
"""

import zlib

from enlist.orchestrator.sniff.binary import sniff_binary
from enlist.orchestrator.sniff.code import sniff_python, sniff_source
from enlist.orchestrator.sniff.found import HEAD, Sniffed
from enlist.orchestrator.sniff.structured import sniff_structured
from enlist.orchestrator.sniff.text import decode, sniff_text
from enlist.tools.runtime.registry import load_all

__all__ = ["HEAD", "Sniffed", "sniff"]
GROUP = "enlist.sniffers"


def sniff(data: bytes, name: str, size: int) -> Sniffed:
    """What a file is.

    Args:
        data: its first bytes, at most the first `HEAD` are looked at.
        name: its name, of any script.
        size: its whole size in bytes; larger than `len(data)` where the file goes on.

    Plug-ins of the group `enlist.sniffers`, callables `(data, name) -> kinds`, are asked first, by name; one that
    raises is passed over and named in the note.
    """
    data = bytes(data[:HEAD])
    if not data:
        return Sniffed((), "application/x-empty", "empty")
    kinds, broken = _plugged(data, name)
    own = _own(data, name, cut=size > len(data))
    note = "; ".join(n for n in (own.note, *broken) if n) or None
    return Sniffed(tuple(dict.fromkeys((*kinds, *own.kinds))), own.media_type, note)


def _own(data: bytes, name: str, *, cut: bool) -> Sniffed:
    if data[:2] == b"\x1f\x8b":
        return _inside_gzip(data, name)
    found = sniff_binary(data, name)
    if found is not None:
        return found
    text = decode(data)
    if text is None:
        return Sniffed((), "application/octet-stream", "binary data of a form that is not known here")
    if not text.strip():
        return Sniffed((), "text/plain", "only white space")
    for look in (sniff_structured, sniff_python, sniff_source):
        found = look(text, name, cut)
        if found is not None:
            return found
    return sniff_text(text, name, cut)


def _inside_gzip(data: bytes, name: str) -> Sniffed:
    """The kinds of what the first `HEAD` unpacked bytes show; memory stays bounded whatever the ratio."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        inner = unpacker.decompress(data, HEAD)
    except zlib.error:
        return Sniffed((), "application/gzip", "damaged gzip")
    if not inner:
        return Sniffed((), "application/gzip", "empty gzip")
    if inner[:2] == b"\x1f\x8b":
        return Sniffed((), "application/gzip", "gzip within gzip")
    found = _own(inner, name.removesuffix(".gz"), cut=not unpacker.eof or bool(unpacker.unconsumed_tail))
    return Sniffed(found.kinds, "application/gzip", f"gzip of {found.media_type}"
                   + (f"; {found.note}" if found.note else ""))


def _plugged(data: bytes, name: str) -> tuple[list[str], list[str]]:
    kinds: list[str] = []
    broken: list[str] = []
    for plugin, look in load_all(GROUP).items():
        try:
            kinds += [str(kind) for kind in look(data, name)]
        except Exception as error:  # a third party's code may raise anything, and a file must still be accepted
            broken.append(f"sniffer {plugin!r} failed: {type(error).__name__}")
    return kinds, broken
