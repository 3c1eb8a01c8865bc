"""Likeness: how near a text is to example requests, by the words and neighbouring words that they share.

Examples and text are vectors of stems and pairs of neighbouring stems, weighed by rarity (tf-idf), and are compared by
cosine (Salton & Buckley 1988). A text is as near as its nearest example, and a little by all of them together, so that
one odd example does not decide. Words that no example has make the text longer and thereby less like anything.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log, sqrt

PAIR = 0.5
"""What a pair of neighbours counts against a word; single Han characters say little and their pairs are words."""
HAN_PAIR = 1.0
ALL = 1 / 3
"""What likeness to all examples together counts against that to the nearest one."""


class Examples:
    """Example requests, made ready for comparison."""

    def __init__(self, requests: Sequence[Sequence[str]], others: Iterable[Sequence[str]],
                 worth: Callable[[str], float]) -> None:
        """`requests` and `others`: requests as stems; `others` only tell how rare a word is. `worth`: what a stem
        counts, 0 where it says nothing."""
        self._worth = worth
        features = [self._features(request) for request in requests]
        every = [*features, *map(self._features, others)]
        seen = Counter(name for one in every for name in one)
        self._rarity = {name: log(1 + len(every) / n) for name, n in seen.items()}
        self._unseen = log(1 + len(every))
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        total: dict[str, float] = defaultdict(float)
        for number, one in enumerate(features):
            for name, share in self._unit(one).items():
                self._postings[name].append((number, share))
                total[name] += share
        self._length = sqrt(sum(x * x for x in total.values())) or 1.0

    def likeness(self, stems: Sequence[str]) -> float:
        """In [0, 1 + ALL]."""
        near: dict[int, float] = defaultdict(float)
        for name, share in self._unit(self._features(stems)).items():
            for number, other in self._postings.get(name, ()):
                near[number] += share * other
        return max(near.values(), default=0.0) + ALL * sum(near.values()) / self._length

    def _features(self, stems: Sequence[str]) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        worth = [self._worth(word) for word in stems]
        for place, word in enumerate(stems):
            if worth[place]:
                found[word] += worth[place]
            if place + 1 < len(stems) and (worth[place] or worth[place + 1]):
                found[f"{word} {stems[place + 1]}"] += HAN_PAIR if is_han(word) else PAIR
        return found

    def _unit(self, features: Mapping[str, float]) -> dict[str, float]:
        vector = {name: (1 + log(x) if x > 1 else x) * self._rarity.get(name, self._unseen)
                  for name, x in features.items()}
        length = sqrt(sum(x * x for x in vector.values())) or 1.0
        return {name: x / length for name, x in vector.items()}


def is_han(word: str) -> bool:
    """Whether the token is one character of a script without spaces."""
    return len(word) == 1 and word >= "\u3040"
