"""The lines that claims cite, read again where they are said to be, and whether they hold what the claims say."""

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from enlist.tools.logs.batch import Accounting, Ref
from enlist.tools.logs.counting import Options
from enlist.tools.logs.incident.model import Incident
from enlist.tools.logs.reading import Found, read
from enlist.tools.logs.reading.text import clean, encoding_of


def verified(incident: Incident, seen: Mapping[Ref, str]) -> Incident:
    """The incident with each claim marked: whether its lines, read again, hold what it says."""
    claims = tuple(replace(c, verified=bool(c.lines) and all(holds(seen.get(r), c.holds) for r in c.lines))
                   for c in incident.claims)
    return replace(incident, claims=claims)


def holds(text: str | None, pieces: Sequence[str]) -> bool:
    """Whether a line is there and holds some pieces of text one after the other, as they are or escaped as in JSON."""
    if text is None:
        return False
    return _in_order(text, pieces) or _in_order(text.replace('\\"', '"').replace("\\\\", "\\"), pieces)


def _in_order(text: str, pieces: Sequence[str]) -> bool:
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def seen_again(wanted: set[Ref], every: Sequence[Found], options: Options) -> dict[Ref, str]:
    """The text of each line that is where its reference says; a plain file is read there and nowhere else."""
    out: dict[Ref, str] = {}
    for number in sorted({ref.source for ref in wanted}):
        mine = {(ref.line, ref.byte): ref for ref in wanted if ref.source == number}
        if number >= len(every) or every[number].origin is None:
            continue
        path = every[number].path
        if path is not None:
            out.update(there(path, mine.values(), options.limits.line))
            continue
        last = max(line for line, _ in mine)
        for block in read([every[number]], Accounting(), options.limits):
            for place in zip(block.numbers, block.offsets, block.texts, strict=True):
                if ref := mine.get(place[:2]):
                    out[ref] = place[2]
            if block.numbers and block.numbers[-1] >= last:
                break
    return out


def there(path: Path, refs: Iterable[Ref], most: int) -> Iterator[tuple[Ref, str]]:
    """The text of the lines of a plain file that begin at some bytes, each kept to `most` bytes."""
    try:
        with open(path, "rb") as file:
            name, _ = encoding_of(file.read(1 << 16))
            wide = name.startswith("utf-16")
            for ref in refs:
                file.seek(max(0, ref.byte - 1))
                if ref.byte and not wide and file.read(1) != b"\n" and not _after_zeros(file, ref.byte):
                    continue
                file.seek(ref.byte)
                raw = file.readline(most)
                text = (raw + file.read(1) if wide else raw).decode(name, "replace").rstrip("\n")
                yield ref, clean(text)
    except OSError:
        return


def _after_zeros(file: BinaryIO, byte: int) -> bool:
    """Whether a line begins after zero bytes or a byte-order mark, which are no part of it."""
    file.seek(max(0, byte - 3))
    before = file.read(min(3, byte))
    return before.endswith(b"\x00") or before == codecs.BOM_UTF8
