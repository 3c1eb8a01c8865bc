"""JSON inside a message: its keys sorted, so that the order a program happened to write them in makes no template.

What was sorted can be put back: the layout lists, piece by piece, where each piece of the message stands in the sorted
text. The scanner reads pieces and no values, so that it works on keys (where digits were replaced) as on messages.
"""

import json
import re

from enlist.tools.logs.templates.keys import key_of

_PIECE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')
_DEEPEST = 40


class _NotJson(Exception):
    pass


class _Reader:
    """Reads one value; a value is the list of the numbers of its pieces, sorted where they are members of an object."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.end = text, start
        self.pieces: list[str] = []
        self.spaces: list[str] = []

    def next(self) -> tuple[int, str]:
        found = _PIECE.match(self.text, self.end)
        if not found:
            raise _NotJson
        piece = found[1]
        self.spaces.append(self.text[self.end : found.start(1)])
        self.pieces.append(piece)
        self.end = found.end()
        return len(self.pieces) - 1, piece

    def value(self, at: tuple[int, str], depth: int = 0) -> list[int]:
        number, piece = at
        if depth > _DEEPEST or piece in "}],:":
            raise _NotJson
        if piece == "{":
            return self.object(number, depth)
        if piece == "[":
            return self.array(number, depth)
        return [number]

    def array(self, number: int, depth: int) -> list[int]:
        order = [number]
        at = self.next()
        if at[1] == "]":
            return [*order, at[0]]
        while True:
            order += self.value(at, depth + 1)
            at = self.next()
            order.append(at[0])
            if at[1] == "]":
                return order
            if at[1] != ",":
                raise _NotJson
            at = self.next()

    def object(self, number: int, depth: int) -> list[int]:
        members: list[tuple[str, list[int]]] = []
        commas: list[int] = []
        at = self.next()
        while at[1] != "}":
            key, colon = at, self.next()
            if not key[1].startswith('"') or colon[1] != ":":
                raise _NotJson
            members.append((key[1], [key[0], colon[0], *self.value(self.next(), depth + 1)]))
            at = self.next()
            if at[1] == ",":
                commas.append(at[0])
                at = self.next()
                if at[1] == "}":
                    raise _NotJson
            elif at[1] != "}":
                raise _NotJson
        order = [number]
        for place, (_, member) in enumerate(sorted(members, key=lambda member: key_of(member[0]))):
            order += member
            if place < len(commas):
                order.append(commas[place])
        return [*order, at[0]]


def _spaced(pieces: list[str]) -> str:
    out = []
    for piece in pieces:
        out.append(piece + " " if piece in ",:" else piece)
    return "".join(out)


def canonical(text: str) -> tuple[str, str]:
    """The text with the keys of its first JSON object sorted and its spaces made regular; the layout that undoes it.

    The layout is "" where nothing changed.
    """
    start = text.find("{")
    while start >= 0:
        reader = _Reader(text, start)
        try:
            order = reader.value(reader.next())
        except _NotJson:
            start = text.find("{", start + 1)
            continue
        if len(order) < 4:
            start = text.find("{", start + 1)
            continue
        sorted_text = text[:start] + _spaced([reader.pieces[n] for n in order]) + text[reader.end :]
        if sorted_text == text:
            return text, ""
        places = {number: place for place, number in enumerate(order)}
        layout = [start, [places[n] for n in range(len(order))], reader.spaces]
        return sorted_text, json.dumps(layout, separators=(",", ":"))
    return text, ""


def restore(text: str, layout: str) -> str:
    """The message whose canonical text and layout these are."""
    start, places, spaces = json.loads(layout)
    reader = _Reader(text, start)
    pieces = [reader.next()[1] for _ in places]
    return text[:start] + "".join(s + pieces[p] for s, p in zip(spaces, places, strict=True)) + text[reader.end :]
