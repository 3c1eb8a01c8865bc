"""Records out of JSON that spans lines: pretty-printed objects and arrays, and the answers of log stores.

The text is scanned bracket by bracket, so that a document of any length is read in constant memory. Records are the
objects of a top-level array; the objects of an array that is the only load of a top-level object (`events`,
`logEvents`, or two levels down as in `hits.hits`); the pairs of time and line in `data.result[].values`, with the names
of the stream that they belong to; else each top-level object. An element's `_source` stands for it. Several records may
stand on one line; a line on which none begins belongs to the one before it.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from enlist.tools.logs.batch import Accounting, Source
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.frames import Framer
from enlist.tools.logs.framing.piece import Piece
from enlist.tools.logs.framing.structured import TIME_KEYS, flat, of_fields, stamp

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|[\[\]{}:]')
_LOADS = ("events", "logevents", "logs", "records", "entries", "items", "results", "hits")
_WRAPPED = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:')
_INSIDE = re.compile(r'"(?:hits|events|logEvents|logs|records|entries|items|result)"\s*:\s*\[')
_MOST = 1 << 25  # characters of one record


def is_document(texts: list[str]) -> bool:
    """Whether a log that begins with some lines is JSON that spans lines or a store's answer."""
    head = texts[0].lstrip()
    if head[:1] == "[":
        following = (head[1:].strip() or (texts[1].strip() if len(texts) > 1 else ""))[:1]
        return following in ("{", "") or head[:2] == "[]"
    if head[:1] != "{":
        return False
    if head.rstrip() == "{":
        return len(texts) > 1 and bool(re.match(r'\s*["}]', texts[1]))
    if head.count("{") + head.count("[") > head.count("}") + head.count("]"):
        return bool(_WRAPPED.match(head))
    if not _INSIDE.search(head):
        return False
    try:
        data = json.loads(head)
    except (ValueError, RecursionError):
        return False
    return not any(key.lower() in TIME_KEYS for key in data) and any(
        isinstance(item, dict) for load in _loads(data) for item in load[:1])


def _loads(data: dict[str, Any]) -> list[list[Any]]:
    """The arrays of a whole document that may be its load."""
    inner = [(data.get(one) or {}).get(two) for one, two in (("hits", "hits"), ("data", "result"))
             if isinstance(data.get(one), dict)]
    return [load for load in [*inner, *(v for k, v in data.items() if k.lower() in _LOADS)] if isinstance(load, list)]


@dataclass(slots=True)
class _Open:
    """A bracket that is open, and the key that it is the value of."""

    bracket: str
    key: str


@dataclass(slots=True)
class _Text:
    """The text of a record so far, and where it began."""

    depth: int
    number: int
    offset: int
    parts: list[str] = field(default_factory=list)
    more: list[int] = field(default_factory=list)
    size: int = 0


class Documents(Framer):
    """Reads one log that is JSON over lines."""

    def __init__(self, account: Accounting, clock: Callable[[Source], Clock]) -> None:
        super().__init__(account, clock)
        self._stack: list[_Open] = []
        self._text: _Text | None = None
        self._said = self._key = ""
        self._labels: dict[str, str] = {}
        self._own_time = False
        self._first_here = 0

    def _lines(self, numbers: list[int], offsets: list[int], texts: list[str]) -> None:
        for number, offset, text in zip(numbers, offsets, texts, strict=True):
            self._scan(number, offset, text)
            if self._first_here != number and not (self._text is not None and self._text.number == number):
                self._account.move("record", "continuation")

    def _scan(self, number: int, offset: int, text: str) -> None:
        self._first_here = 0
        start = 0
        for match in _TOKEN.finditer(text):
            sign = match[0]
            if sign[0] == '"':
                self._said = match[1]
            elif sign == ":":
                self._key = self._said
                if len(self._stack) == 1 and self._key.lower() in TIME_KEYS:
                    self._own_time = True
            elif sign in "{[":
                self._stack.append(_Open(sign, self._key))
                self._key = ""
                if self._text is not None and self._wraps():
                    if self._text.number != number:
                        self._account.move("record", "continuation")
                    self._text = None  # what looked like a record holds them
                if self._text is None and self._begins():
                    self._text = _Text(len(self._stack), number, offset)
                    start = match.start()
            elif self._stack:
                if self._text is not None and len(self._stack) == self._text.depth:
                    self._text.parts.append(text[start:match.end()])
                    self._record(self._text, number)
                    self._text, start = None, match.end()
                self._stack.pop()
                if not self._stack:
                    self._own_time, self._labels = False, {}
        if self._text is not None:
            if self._text.number != number:
                self._text.more.append(number)
            if self._text.size < _MOST:
                self._text.parts.append(text[start:])
                self._text.size += len(text) - start

    def _keys(self) -> list[str]:
        return [o.key.lower() for o in self._stack]

    def _wraps(self) -> bool:
        """Whether the array that opens now is the load of the object that is being read."""
        if self._stack[-1].bracket != "[" or self._text is None or self._text.depth != 1 or self._own_time:
            return False
        keys = self._keys()
        return (len(keys) == 2 and keys[1] in _LOADS and self._stack[0].bracket == "{") or keys[1:] in (
            ["hits", "hits"], ["data", "result"])

    def _begins(self) -> bool:
        """Whether what opens now is a record, or an object that may be one."""
        stack, last = self._stack, self._stack[-1].bracket
        depth = len(stack)
        if depth == 1:
            return last == "{"
        keys = self._keys()
        if keys[1:3] == ["data", "result"]:
            if depth == 5 and keys[4] == "stream":
                return True
            return depth == 6 and keys[4] == "values" and last == "["
        return last == "{" and ((depth == 2 and stack[0].bracket == "[")
                                or (depth == 3 and keys[1] in _LOADS and stack[1].bracket == "[")
                                or (depth == 4 and keys[1:3] == ["hits", "hits"]))

    def _record(self, text: _Text, number: int) -> None:
        if text.number != number:
            text.more.append(number)
        try:
            data = json.loads("".join(text.parts))
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and self._keys()[-1] == "stream" and len(self._stack) == 5:
            self._labels = flat(data)
            return
        piece = self._piece(data, "".join(text.parts))
        if piece is None:
            return
        self._first_here = text.number
        self._begin(text.number, text.offset, piece.stream, piece)
        self._follow(text.more)

    def _piece(self, data: Any, raw: str) -> Piece | None:
        if isinstance(data, list) and len(data) >= 2:
            inner = self._unwrapped(Piece(str(data[1]), *(stamp(str(data[0]), self._clock) or (None, "none"))))
            inner.service = inner.service or of_fields(self._labels, self._clock).service
            inner.level = inner.level or of_fields(self._labels, self._clock).level
            return inner
        if not isinstance(data, dict):
            return Piece(" ".join(raw.split()))
        if not data:
            return None
        source = data.get("_source")
        piece = of_fields(dict(sorted(flat(source if isinstance(source, dict) and source else data).items())),
                          self._clock)
        if set(data) & {"logStreamName", "ingestionTime"}:  # a line as it was written, with the store's own time
            return self._unwrapped(piece)
        return piece
