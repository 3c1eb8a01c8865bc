"""From messages to templates: counts shapes as lines come, and finds the statements behind them when asked.

`add` maps every message to the number of its shape; most are found with their digits alike, the rest by their key.
`fit` clusters the shapes. Shapes are a set with counts, so that miners merge exactly and the templates are the same for
any order of messages and any number of miners. Shape numbers are of one miner; a template's id is a hash of its text.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from enlist.tools.logs.templates.clusters import Evidence, clusters
from enlist.tools.logs.templates.coarse import LAST, SAID, at_level, coarser
from enlist.tools.logs.templates.crowds import stand_ins
from enlist.tools.logs.templates.keys import CUT, LONGEST, WORD, collapse, cut, key_of, same_digits
from enlist.tools.logs.templates.objects import canonical, restore
from enlist.tools.logs.templates.outcomes import numbered, outcome
from enlist.tools.logs.templates.text import MARK, Template, joined, template
from enlist.tools.logs.templates.words import outcome_in
from enlist.tools.runtime.errors import EnlistError


@dataclass(frozen=True)
class Limits:
    """`shapes`: different shapes that are kept before they become coarser; `cached`: lines that are remembered."""

    shapes: int = 100_000
    cached: int = 100_000


class Miner:
    """Templates of messages.

    A message is a text of any kind and length, without its envelope (time, level, host). Numbers given by `add` stay
    valid for this miner's life; what they resolve to is known after `fit`, and again after a later one.
    """

    def __init__(self, limits: Limits | None = None, evidence: Evidence | None = None) -> None:
        self.limits, self.evidence = limits or Limits(), evidence or Evidence()
        self.level = 0
        self._issued = 0
        self._numbers: dict[str, int] = {}
        self._counts: Counter[int] = Counter()
        self._moved: dict[int, int] = {}
        self._by_digits: dict[bytes, int] = {}
        self._by_key: dict[bytes, int] = {}
        self._template: dict[int, int] | None = None
        self._templates: dict[int, Template] = {}
        self._patterns: dict[int, Any] = {}
        self._outcomes: dict[int, str | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again: a miner that travels to another process is its shapes and counts."""
        return {**self.__dict__, "_by_digits": {}, "_by_key": {}, "_patterns": {}, "_outcomes": {}}

    # Counting

    def add(self, messages: Sequence[str]) -> list[int]:
        """Count messages; the number of the shape of each."""
        if not messages:
            return []
        block = "\n".join(messages)
        long = len(block) > LONGEST and max(map(len, messages)) > LONGEST
        if long or CUT in block or WORD in block or block.count("\n") >= len(messages):
            messages = [cut(message) for message in messages]
            block = "\n".join(messages)
        lines = same_digits(block.encode("utf-8", "surrogatepass")).split(b"\n")
        known = list(map(self._by_digits.get, lines))
        numbers = self._complete(lines, known) if None in known else cast(list[int], known)
        self._counts.update(numbers)
        self._template = None
        return numbers

    def _complete(self, lines: list[bytes], known: list[int | None]) -> list[int]:
        """The numbers of all lines, where some are not known by their digits."""
        places = [place for place, number in enumerate(known) if number is None]
        missed = [lines[place] for place in places]
        keys = collapse(b"\n".join(missed)).split(b"\n")
        level = self.level
        for place, key, number in zip(places, keys, map(self._by_key.get, keys), strict=True):
            known[place] = self._number(key) if number is None else number
        numbers = cast(list[int], known)
        if self.level != level:
            return [self._now(number) for number in numbers]
        # Where nearly every line is new, as with random ids, to remember them is only a cost.
        if 2 * len(missed) < len(lines) or len(set(missed)) < len(missed):
            if len(self._by_digits) + len(missed) > self.limits.cached:
                self._by_digits.clear()
            self._by_digits.update((lines[place], numbers[place]) for place in places)
        return numbers

    def _number(self, key: bytes) -> int:
        """The number of a key that the cache does not hold."""
        number = self._by_key.get(key)
        if number is not None:
            return number
        number = self._of_shape(self._shape(key.decode("utf-8", "surrogatepass")))
        if len(self._by_key) >= self.limits.cached:
            self._by_key.clear()
        self._by_key[key] = number
        if len(self._numbers) > self.limits.shapes:
            self._coarsen()
            number = self._now(number)
        return number

    def _shape(self, key: str) -> str:
        # What looks like a slot is taken for one: a template's text must be unambiguous.
        return at_level(canonical(key)[0].replace(MARK, CUT), self.level)

    def _of_shape(self, shape: str) -> int:
        number = self._numbers.get(shape)
        if number is None:
            number = self._numbers[shape] = self._issued
            self._issued += 1
        return number

    def _coarsen(self, level: int = 0) -> None:
        """Go to the first level at which the shapes are few enough, at least to `level`."""
        while self.level < LAST and (self.level < level or len(self._numbers) > self.limits.shapes):
            self.level += 1
            before, self._numbers = self._numbers, {}
            for shape, number in before.items():
                self._moved[number] = self._of_shape(coarser(shape, self.level))
            self._by_key.clear()
            self._by_digits.clear()
            self._outcomes.clear()
        self._settle()

    def _now(self, number: int) -> int:
        while number in self._moved:
            number = self._moved[number]
        return number

    def _settle(self) -> None:
        counts: Counter[int] = Counter()
        for number, count in self._counts.items():
            counts[self._now(number)] += count
        self._counts = counts

    def merge(self, other: "Miner") -> list[int]:
        """Add what another miner counted; for each number that it gave, the number here."""
        self._coarsen(other.level)
        here: dict[int, int] = {}
        for shape, number in other._numbers.items():
            for level in range(other.level + 1, self.level + 1):
                shape = coarser(shape, level)
            here[number] = self._of_shape(shape)
            self._counts[here[number]] += other._counts[number]
        self._coarsen()
        self._template = None
        return [self._now(here[other._now(number)]) for number in range(other._issued)]

    # Templates

    def fit(self) -> None:
        """Find the templates of the shapes counted so far; does nothing where none came since the last time."""
        if self._template is not None:
            return
        of_number: dict[int, int] = {}
        found: dict[int, Template] = {}
        stands_for = stand_ins(self._numbers, self.evidence.alone)
        for cluster in clusters(stands_for, self.evidence):
            made = template(cluster)
            same = found.get(made.id)
            found[made.id] = made if same is None else same.with_kinds(made.kinds)
            for shape, _ in cluster.shapes:
                of_number.update((self._numbers[member], made.id) for member in stands_for[shape])
        self._template, self._templates, self._patterns = of_number, found, {}

    def template_of(self, shape: int) -> int:
        """The id of the template of a shape number."""
        self.fit()
        assert self._template is not None
        number = self._now(shape)
        if number not in self._template:
            raise EnlistError("not_found", "this miner gave no such shape number", given=str(shape),
                              allowed=f"0 to {self._issued - 1}", fix="use numbers from `add` or `merge` of this miner")
        return self._template[number]

    def text(self, template: int) -> str:
        """The text of a template, `<*>` for each slot."""
        return self._of_id(template).text

    def counts(self) -> dict[int, int]:
        """Messages by template id, in the order of the texts."""
        self.fit()
        totals: Counter[int] = Counter()
        for number, count in self._counts.items():
            totals[self.template_of(number)] += count
        return {id: totals[id] for id in sorted(totals, key=lambda id: self._templates[id].text)}

    def coarseness(self) -> str:
        """Whether shapes had to be made coarser to bound memory, worded for people."""
        return SAID[self.level]

    def parameters(self, message: str, shape: int | None = None) -> tuple[int, list[str]]:
        """The template of a message and what fills its slots; `shape`, the number that `add` gave it, saves time.

        A JSON object whose keys were not sorted and spaced regularly adds one more parameter, the layout that gives the
        message back. A message whose shape was never added gets the template that fits it with most literal text and
        fewest slots, else `<*>`.
        """
        self.fit()
        assert self._template is not None
        head = cut(message)
        number = self._numbers.get(self._shape(key_of(head))) if shape is None else self._now(shape)
        end = len(head) - head.endswith(CUT)
        text, layout = canonical(head[:end]) if "{" in head else (head[:end], "")
        id = self._template.get(number, _ANYTHING.id) if number is not None else _ANYTHING.id
        values = self._values(id, text) if number is not None else None
        if values is None:
            id, values = self._nearest(text + message[end:])
        elif end < len(message):
            values[-1] += message[end:]
        return id, [*values, layout] if layout else values

    def outcome(self, message: str, shape: int) -> str:
        """`outcome` of a message whose shape number is known: quicker, as it is mostly that of the shape."""
        said = self._outcomes.get(shape, "?")
        if said == "?":
            varies = self.level > 0 or "{" in message or numbered(message.lower())
            said = self._outcomes[shape] = None if varies else outcome(message)
        return outcome(message) if said is None else said

    def render(self, template: int, parameters: Sequence[str]) -> str:
        """The message that `parameters` took apart."""
        literals = self._of_id(template).literals()
        slots = len(literals) - 1
        if not slots <= len(parameters) <= slots + 1:
            raise EnlistError("bad_input", "the parameters are not those of the template",
                              given=f"{len(parameters)} parameters", allowed=f"{slots}, and a layout for JSON",
                              fix="give what `parameters` returned")
        text = literals[0] + "".join(part for pair in zip(parameters, literals[1:], strict=False) for part in pair)
        return restore(text, parameters[-1]) if len(parameters) > slots else text

    def _of_id(self, id: int) -> Template:
        self.fit()
        if id == _ANYTHING.id:
            return self._templates.get(id, _ANYTHING)
        if id not in self._templates:
            raise EnlistError("not_found", "no template has this id", given=str(id),
                              fix="ids change with the text when more messages are added: resolve shape numbers late")
        return self._templates[id]

    def _values(self, id: int, text: str) -> list[str] | None:
        pattern = self._patterns.get(id)
        if pattern is None:
            pattern = self._patterns[id] = self._of_id(id).pattern()
        found = pattern.fullmatch(text)
        return list(found.groups()) if found else None

    def _nearest(self, text: str) -> tuple[int, list[str]]:
        best = (0, 0, "")
        answer: tuple[int, list[str]] = (_ANYTHING.id, [text])
        for id, made in self._templates.items():
            literal = sum(map(len, made.literals()))
            rank = (-literal, len(made.kinds), made.text)
            if rank < best:
                values = self._values(id, text)
                if values is not None and not any(outcome_in(word) for value in values for word in value.split()):
                    best, answer = rank, (id, values)
        return answer


_ANYTHING = joined([2])
assert _ANYTHING.text == MARK
