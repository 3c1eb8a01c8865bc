"""One unusual thing in a log."""

from dataclasses import dataclass
from typing import Any, Literal

from enlist.tools.logs.batch import Ref

Kind = Literal["burst", "first_seen", "silence", "shift", "growth", "rare"]
"""burst: more of a statement than its baseline; first_seen: an error-bearing statement that was not there before;
silence: a steady statement that stops; shift: numbers with a unit that move; growth: numbers that only climb; rare: a
statement of which there are few records in all."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What was counted, where and when.

    Attributes:
        template: id of the statement.
        text: its template.
        start, end: ns since the epoch of the first and last record in question.
        strength: by how many standard deviations of a Poisson count it stands out; for shifts the ratio.
        bad: how much the statement itself tells of trouble, in [0, 1].
        count: records in question; share: which part of all records of the statement they are.
        lines: first lines of the slices in question, in order of time; times: ns since the epoch of each.
        value: what the kind says in numbers.
    """

    kind: Kind
    service: str
    template: int
    text: str
    start: int
    end: int
    strength: float
    bad: float
    count: int
    lines: tuple[Ref, ...]
    example: str
    value: dict[str, Any]
    times: tuple[int, ...] = ()
    share: float = 1.0
