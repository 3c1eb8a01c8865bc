"""What the name of a log tells: which parts of a rotated log belong together and in which order, and who wrote it.

`app.log`, `app.log.1`, `app.log.2.gz`, `app.log-20260101`, `app-2026-01-01.log` are parts of one log. The oldest comes
first: higher numbers before lower ones, earlier dates before later ones, the unmarked part last.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_PACKED = re.compile(r"\.(gz|zst|xz|bz2|zip|lz4|Z)$", re.IGNORECASE)
_NUMBER = re.compile(r"\.(\d{1,4})$")
_DATE = re.compile(r"[-_.](\d{4})-?(\d{2})-?(\d{2})(?:[-_T.]?(\d{2})[-_:]?(\d{2})?[-_:]?(\d{2})?)?(?=$|\.)")
_EXTENSION = re.compile(r"\.(log|logs|txt|out|err|json|jsonl|ndjson|logfmt|csv|stdout|stderr)$", re.IGNORECASE)
_PART = re.compile(r"(?<=.)[-_.](?:error|errors|err|access|out|stdout|stderr|slow|gc)$", re.IGNORECASE)
_LAST = "9" * 14
_GENERIC = {"", "-", "log", "logs", "output", "out", "stdout", "stderr", "err", "error", "access", "current",
            "messages", "console"}


def rotation(name: str) -> tuple[str, str, int]:
    """(name of the whole log, date or last, minus number): a sort key under which older parts come first."""
    rest = _PACKED.sub("", name)
    number = 0
    if found := _NUMBER.search(rest):
        number, rest = int(found[1]), rest[:found.start()]
    date = _LAST
    if found := _DATE.search(rest):
        date = "".join(part or "00" for part in found.groups())
        rest = rest[:found.start()] + rest[found.end():]
    return rest, date, -number


def service(name: str) -> str | None:
    """Who wrote a log, by its file name; where that is a generic word, by its folder."""
    path = PurePosixPath(rotation(name.replace("!", "/"))[0])
    stem = _PART.sub("", _EXTENSION.sub("", _EXTENSION.sub("", path.name)))
    if stem.lower() in _GENERIC:
        folder = path.parent.name
        return folder if folder not in ("", ".", "/", "log", "logs", "var") else stem or None
    return stem


def in_order(names: Iterable[str]) -> list[str]:
    """Names sorted so that the parts of each log follow each other, oldest first."""
    return sorted(names, key=lambda n: (*rotation(n), n))
