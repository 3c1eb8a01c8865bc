"""Bytes into lines of text: encodings, line ends, colours, junk.

The encoding of a stream is found from its first piece: a byte-order mark, zero bytes in every second place, whether it
is UTF-8; else Latin-1, which reads anything. A stretch of bytes that is no text (long runs of zeros in a log that was
truncated under its writer, a core dump in the middle) is junk: counted, its readable end kept.
"""

import codecs
import re
from itertools import accumulate

_ANSI = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")
_CONTROL = bytes(range(0, 9)) + bytes(range(14, 27)) + bytes(range(28, 32)) + b"\x7f"
_JUNK = 0.3
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SAMPLE = 1 << 16


def encoding_of(head: bytes, whole: bool = False) -> tuple[str, int]:
    """(codec, length of its byte-order mark) of a stream that begins with `head`; `whole`: nothing follows it."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    sample = head[:_SAMPLE]
    if len(sample) >= 4:
        even, odd = sample[0::2].count(0) / len(sample[0::2]), sample[1::2].count(0) / len(sample[1::2])
        if odd > 0.4 and even < 0.1:
            return "utf-16-le", 0
        if even > 0.4 and odd < 0.1:
            return "utf-16-be", 0
    strict = codecs.getincrementaldecoder("utf-8")()
    try:
        strict.decode(sample, whole and len(head) <= _SAMPLE)
    except UnicodeDecodeError:
        return ("utf-8" if _mostly_utf8(sample) else "latin-1"), 0
    return "utf-8", 0


def _mostly_utf8(sample: bytes) -> bool:
    """Whether what is not ASCII is more often sound UTF-8 than not: then single broken bytes are damage."""
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return sum(c > "\x7f" for c in text) - broken > broken or b"\x00" in sample


def is_binary(head: bytes) -> bool:
    """Whether a whole file is no log at all: an image, a program, an archive that is not known."""
    name, mark = encoding_of(head)
    if name.startswith("utf-16"):
        return False
    body = head[mark:].strip(b"\x00")
    if not body:
        return bool(head)
    strange = len(body) - len(body.translate(None, _CONTROL))
    return strange > 0.1 * len(body) and not re.search(rb"(?:^|\n)[ -~\t]{20}", body)


def clean(text: str) -> str:
    """A line without colours, cursor movement and the carriage return at its end."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text[:-1] if text.endswith("\r") else text


def readable(raw: bytes) -> bytes | None:
    """A line that holds bytes which no text has: its readable end, or None where there is none."""
    if b"\x00" in raw:
        raw = raw[raw.rindex(b"\x00") + 1:]
    strange = len(raw) - len(raw.translate(None, _CONTROL))
    return raw if raw.strip() and strange <= _JUNK * len(raw) else None


def starts(lengths: list[int], first: int, end: int = 1) -> list[int]:
    """Where lines begin, by their lengths, when each is followed by `end` more bytes."""
    return list(accumulate((n + end for n in lengths[:-1]), initial=first)) if lengths else []
