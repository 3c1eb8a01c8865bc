"""Shapes to clusters: which shapes are one statement of a program.

Shapes with one key are one cluster at once. Then clusters that differ in nothing but one element are compared: where an
element takes enough different values among otherwise equal clusters, it is a slot. Few values are enough for a soft
element, more are needed for a plain word, and outcome words never count. The answer is a function of the set of shapes:
every step works on all clusters alike and on sorted keys.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from enlist.tools.logs.templates.tokens import SLOT, Element, collapsed, elements
from enlist.tools.logs.templates.words import outcome_in

Key = tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """How many different values make a slot: of a soft element, of a plain word, of the first word of a statement."""

    soft: int = 3
    hard: int = 6
    first: int = 20
    context: int = 2


@dataclass(slots=True)
class Cluster:
    """Shapes of one statement, each with its elements; all have as many elements, in the same order."""

    soft: tuple[bool, ...]
    shapes: list[tuple[str, list[Element]]]


def clusters(shapes: Iterable[str], evidence: Evidence = Evidence()) -> list[Cluster]:
    """The clusters of a set of shapes, in the order of their keys."""
    found = _by_key((shape, elements(shape)) for shape in sorted(shapes))
    for _ in range(8):
        merged = _merged(found, evidence)
        if not merged:
            break
        found = _by_key(merged)
    return [found[key] for key in sorted(found)]


def _by_key(given: Iterable[tuple[str, list[Element]]]) -> dict[Key, Cluster]:
    found: dict[Key, Cluster] = {}
    for shape, parts in given:
        key = tuple(e.key for e in parts)
        soft = tuple(e.soft for e in parts)
        cluster = found.get(key)
        if cluster is None:
            found[key] = Cluster(soft, [(shape, parts)])
        else:
            cluster.shapes.append((shape, parts))
            if soft != cluster.soft:
                cluster.soft = tuple(a and b for a, b in zip(soft, cluster.soft, strict=True))
    return found


def _merged(found: dict[Key, Cluster], evidence: Evidence) -> list[tuple[str, list[Element]]]:
    """The shapes with more of their elements made slots; nothing where no element has enough values."""
    slots: dict[Key, set[int]] = defaultdict(set)
    blanks: dict[tuple[int, Key], list[Key]] = defaultdict(list)
    softs: dict[Key, list[Key]] = defaultdict(list)
    for key, cluster in found.items():
        words = [n for n, part in enumerate(key) if _counts(part)]
        if any(cluster.soft):
            softs[tuple(SLOT if s else part for part, s in zip(key, cluster.soft, strict=True))].append(key)
        for place in words:
            if not outcome_in(key[place]) and len(words) > evidence.context:
                blanks[place, (*key[:place], SLOT, *key[place + 1 :])].append(key)
    for blank, keys in softs.items():
        if len(keys) < 2 or sum(map(_counts, blank)) < 1:
            continue
        for place, part in enumerate(blank):
            if part == SLOT and len({key[place] for key in keys}) >= evidence.soft:
                for key in keys:
                    slots[key].add(place)
    for (place, _), keys in blanks.items():
        first = next(n for n, part in enumerate(keys[0]) if _counts(part)) == place
        need = evidence.first if first else evidence.hard
        if len(keys) >= need:
            for key in keys:
                slots[key].add(place)
    if not slots:
        return []
    out = []
    for key, cluster in found.items():
        places = slots.get(key)
        for shape, parts in cluster.shapes:
            if places:
                parts = [Element(SLOT, False, e.start, e.end) if n in places else e for n, e in enumerate(parts)]
                parts = collapsed(parts)
            out.append((shape, parts))
    return out


def _counts(part: str) -> bool:
    """Whether a part of a key says something: a word, no value and no sign."""
    return len(part) > 1 and any(map(str.isalpha, part))
