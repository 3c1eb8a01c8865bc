"""A cluster as a template: its text with `<*>` for what differs, and the pattern that takes a message apart.

What all shapes of a cluster share stays as it was written, numbers are slots, and of elements that differ the common
beginning and end stay. The text is made of literals and slots, so that literals and parameters give the message back;
a literal never holds `<*>` itself, so that the text is unambiguous.
"""

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass

from enlist.tools.logs.templates.clusters import Cluster
from enlist.tools.logs.templates.keys import CUT, WORD

MARK = "<*>"
NUMBER, TOKEN, ANY = 0, 1, 2
_PATTERNS = (r"([0-9A-Fa-fxX.:,\-+_/@]+?)", r"(\S*?)", r"(.*?)")
_SLOTS = re.compile(rf"(?P<any>{CUT})|(?P<word>{WORD})|(?:(?<!\w)[-+])?0(?:[.:,_/@-]0)*")

Piece = str | int
"""A literal, or the kind of a slot."""


@dataclass(frozen=True, slots=True)
class Template:
    """`id` is a hash of `text`; `kinds` are those of the slots of `text`, in order."""

    id: int
    text: str
    kinds: tuple[int, ...]

    def literals(self) -> list[str]:
        return self.text.split(MARK)

    def pattern(self) -> re.Pattern[str]:
        literals = self.literals()
        out = [re.escape(literals[0])]
        for kind, literal in zip(self.kinds, literals[1:], strict=True):
            out += [_PATTERNS[kind], re.escape(literal)]
        return re.compile("".join(out), re.S)

    def with_kinds(self, kinds: tuple[int, ...]) -> "Template":
        """The template of this text and of another cluster's slots: each slot takes what either takes."""
        return Template(self.id, self.text, tuple(map(max, self.kinds, kinds)))


def id_of(text: str) -> int:
    """53 bits, so that any JSON reader keeps them."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 11


def template(cluster: Cluster) -> Template:
    count = len(cluster.soft)
    pieces: list[Piece] = []
    for n in range(count + 1):
        gaps, parts = set(), set()
        for shape, found in cluster.shapes:
            begin = found[n - 1].end if n else 0
            gaps.add(shape[begin : found[n].start if n < count else len(shape)])
            if n < count:
                parts.add(shape[found[n].start : found[n].end])
        pieces += _shared(gaps)
        if n < count:
            pieces += _shared(parts)
    return joined(pieces)


def joined(pieces: list[Piece]) -> Template:
    """The template of pieces; slots that touch are one."""
    literals: list[str] = [""]
    kinds: list[int] = []
    for piece in pieces:
        if isinstance(piece, str):
            literals[-1] += piece
        elif kinds and not literals[-1]:
            kinds[-1] = max(kinds[-1], piece)
        else:
            kinds.append(piece)
            literals.append("")
    text = MARK.join(literals)
    return Template(id_of(text), text, tuple(kinds))


def _shared(texts: set[str]) -> list[Piece]:
    if len(texts) == 1:
        return _pieces(next(iter(texts)))
    split = [re.split(r"(\s+)", text) for text in texts]
    if len({len(words) for words in split}) == 1:
        return [piece for column in zip(*split, strict=True) for piece in _ends(set(column))]
    return _ends(texts)


def _ends(texts: set[str]) -> list[Piece]:
    if len(texts) == 1:
        return _pieces(next(iter(texts)))
    prefix, suffix = shared_ends(texts)
    middle = [text[len(prefix) : len(text) - len(suffix)] for text in texts]
    kind = ANY if any(re.search(rf"[\s{CUT}]", text) for text in middle) else TOKEN
    return [*_pieces(prefix), kind, *_pieces(suffix)]


def shared_ends(texts: Collection[str]) -> tuple[str, str]:
    """The beginning and the end that texts share, in whole words."""
    prefix = _whole_words(_common(texts))
    return prefix, _whole_words(_common([text[len(prefix) :][::-1] for text in texts]))[::-1]


def _common(texts: Collection[str]) -> str:
    """The longest beginning of all texts."""
    low, high = min(texts), max(texts)
    for n, letter in enumerate(low):
        if high[n : n + 1] != letter:
            return low[:n]
    return low


def _whole_words(prefix: str) -> str:
    """The part of a beginning up to the end of a word: of `node-1` and `nodes` nothing, of `a.b` and `a.c` `a.`."""
    return re.sub(r"[^\W_]+$", "", prefix)


def _pieces(text: str) -> list[Piece]:
    out: list[Piece] = []
    at = 0
    for found in _SLOTS.finditer(text):
        out += [text[at : found.start()], ANY if found["any"] else TOKEN if found["word"] else NUMBER]
        at = found.end()
    return [*out, text[at:]]
