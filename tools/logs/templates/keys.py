"""Lines to keys: every number and hexadecimal word of a block of lines becomes one `0`, whatever its length.

A key is a function of its line alone. A word is a run of letters and digits; one of hexadecimal digits only, at least
one of them decimal, is a number as a whole, also with an `x` after its first digit (`0x1f`, `80x24`), and so is one of
eight hexadecimal letters or more (`ffffffff`: English has no such word). In other words each run of decimal digits is.
The work is done for a whole block by array arithmetic (a few nanoseconds a byte): a regular expression visits each
digit.
"""

import re

import numpy as np

CUT = "\x02"
"""Stands for any text: the end of a message that was cut, or what a coarser shape leaves out."""
WORD = "\x03"
"""Stands for any one word, where one shape stands for many."""
LONGEST = 2048
"""Characters of a message that are looked at; the rest is one parameter."""

_SAME_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_DIGIT, _HEX, _OTHER, _X = 1, 2, 4, 8


def _classes() -> bytes:
    table = bytearray(256)
    for code in range(256):
        sign = chr(code)
        if code >= 128 or sign.isalpha():
            table[code] = _HEX if sign in "abcdefABCDEF" else _X if sign in "xX" else _OTHER
        elif sign.isdigit():
            table[code] = _DIGIT
    return bytes(table)


_CLASSES = _classes()
_NO_WORD = 8
_DIGITS = re.compile(f"[0-9]|[a-fA-F]{{{_NO_WORD}}}")
_CUTS = re.compile(f"[\n{CUT}{WORD}]")


def cut(message: str) -> str:
    """The part of a message that is mined: its first line, at most `LONGEST` characters; `CUT` ends what was cut."""
    found = _CUTS.search(message, 0, LONGEST + 1)
    end = found.start() if found else LONGEST
    return message if end >= len(message) else message[:end] + CUT


def same_digits(lines: bytes) -> bytes:
    """All decimal digits alike: the first, cheapest key, exact for lines whose numbers have equal lengths."""
    return lines.translate(_SAME_DIGITS)


def collapse(lines: bytes) -> bytes:
    """The keys of lines that are joined by line ends; of `same_digits` too, which changes nothing."""
    lines = same_digits(lines)
    kinds = np.frombuffer(lines.translate(_CLASSES), dtype=np.uint8)
    if len(kinds) < 2:
        return lines
    digit = kinds == _DIGIT
    drop = np.zeros(len(kinds), dtype=bool)
    np.logical_and(digit[1:], digit[:-1], out=drop[1:])
    inside = kinds != 0
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    if inside[0]:
        edges = np.concatenate(([0], edges))
    if not len(edges):
        return lines
    starts = edges[::2]
    # The classes of a word's signs, together; what stands between words adds nothing.
    whole = np.bitwise_or.reduceat(kinds, starts)
    base = whole & np.uint8(_DIGIT | _OTHER | _X)
    ends = edges[1::2] if len(edges) % 2 == 0 else np.append(edges[1::2], len(kinds))
    number = (whole == (_DIGIT | _HEX)) | ((base == (_DIGIT | _X)) & digit[starts])
    number |= (whole == _HEX) & (ends - starts >= _NO_WORD)
    if number.any():
        begins = starts[number] + 1
        lengths = ends[number] - begins
        shifts = np.cumsum(lengths) - lengths
        drop[np.arange(lengths.sum()) + np.repeat(begins - shifts, lengths)] = True
        data = np.frombuffer(lines, dtype=np.uint8).copy()
        data[starts[number]] = ord("0")
    else:
        data = np.frombuffer(lines, dtype=np.uint8)
    # 0xFF is in no UTF-8 text: to mark and delete is quicker than to pick what stays.
    return (data | -drop.view(np.uint8)).tobytes().translate(None, b"\xff")


def key_of(text: str) -> str:
    """The key of one piece of text."""
    if not _DIGITS.search(text):
        return text
    return collapse(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
