"""Shapes to clusters: which shapes are one statement of a program.

Shapes with one key are one cluster at once. Then clusters that are equal but for some elements are compared: an element
that takes enough different values among them is a slot. Few values are enough for a soft element, more are needed for a
plain word, yet more where little else is said; outcome words never count. The answer is a function of the set of
shapes: every step looks at all clusters and changes them together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from enlist.tools.logs.templates.tokens import SLOT, Element, collapsed, elements
from enlist.tools.logs.templates.words import JOINING, outcome_in

Key = tuple[str, ...]
Shape = tuple[str, list[Element]]
Slots = dict[Key, set[int]]
_MASKS = 64
"""Places of slots that are tried for one length of key: the commonest."""


@dataclass(frozen=True)
class Evidence:
    """How many different values make a slot.

    Attributes:
        soft: of a soft element.
        hard: of a plain word, where at least two other words of the statement are known.
        alone: of a plain word where fewer are, and of a statement's first word.
        tail: of all that follows a colon.
        familiar: of a word that is a value of another statement.
    """

    soft: int = 3
    hard: int = 6
    alone: int = 20
    tail: int = 6
    familiar: int = 2


@dataclass(slots=True)
class Cluster:
    """Shapes of one statement, each with its elements; all have as many elements, in the same order."""

    soft: tuple[bool, ...]
    shapes: list[Shape]


def clusters(shapes: Iterable[str], evidence: Evidence) -> list[Cluster]:
    """The clusters of a set of shapes, in the order of their keys."""
    found: dict[Key, Cluster] = {}
    _put(found, [(shape, elements(shape)) for shape in sorted(shapes)])
    steps = (_soft, _known, _single, _rare, _tails)
    values: set[str] = set()
    at = 0
    while at <= len(steps):
        slots = steps[at](found, evidence) if at < len(steps) else _familiar(found, evidence, values)
        if slots:
            if at < len(steps) and steps[at] is not _tails:
                values.update(key[place] for key, places in slots.items() for place in places if key[place].isalpha())
            _put(found, [shape for key in sorted(slots) for shape in _slotted(found.pop(key), slots[key])])
        at = 0 if slots else at + 1
    return [found[key] for key in sorted(found)]


def _put(found: dict[Key, Cluster], given: list[Shape]) -> None:
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


def _slotted(cluster: Cluster, places: set[int]) -> Iterator[Shape]:
    """The shapes of a cluster whose elements at some places turned out to be slots."""
    for shape, parts in cluster.shapes:
        slotted = [Element(SLOT, False, e.start, e.end) if n in places else e for n, e in enumerate(parts)]
        yield shape, collapsed(slotted)


@lru_cache(maxsize=1 << 16)
def _says(part: str) -> bool:
    """Whether a part of a key is a word with content: no value, no sign, no joining word."""
    return len(part) > 1 and part[0] != SLOT and any(map(str.isalpha, part)) and part.lower() not in JOINING


def _blank(key: Key, places: Iterable[int]) -> Key:
    parts = list(key)
    for place in places:
        parts[place] = SLOT
    return tuple(parts)


def _soft(found: dict[Key, Cluster], evidence: Evidence) -> Slots:
    """Soft elements that differ where all that is not soft is the same."""
    alike: dict[Key, list[Key]] = defaultdict(list)
    for key, cluster in found.items():
        alike[_blank(key, (n for n, soft in enumerate(cluster.soft) if soft))].append(key)
    slots: Slots = defaultdict(set)
    for blank, keys in alike.items():
        if len(keys) < 2 or not any(map(_says, blank)):
            continue
        for place, part in enumerate(blank):
            values = {key[place] for key in keys} if part == SLOT else set()
            if len(values) >= evidence.soft or (len(values) > 1 and SLOT in values):
                for key in keys:
                    if key[place] != SLOT:
                        slots[key].add(place)
    return slots


def _known(found: dict[Key, Cluster], evidence: Evidence) -> Slots:
    """Words that stand where an otherwise equal cluster has slots."""
    masks: dict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for key in found:
        masks[len(key)][tuple(n for n, part in enumerate(key) if part == SLOT)] += 1
    likely = {n: sorted(counts, key=lambda mask: (-counts[mask], mask))[:_MASKS] for n, counts in masks.items()}
    slots: Slots = defaultdict(set)
    for key in found:
        for mask in likely[len(key)]:
            blank = _blank(key, mask)
            if blank in found and blank != key and sum(map(_says, blank)) >= 2:
                places = [place for place in mask if key[place] != SLOT]
                if all(_says(key[place]) and not outcome_in(key[place]) for place in places):
                    slots[key].update(places)
    return slots


def _single(found: dict[Key, Cluster], evidence: Evidence) -> Slots:
    """Words that differ where all else is the same."""
    slots: Slots = defaultdict(set)
    for place in range(max(map(len, found), default=0)):  # place by place, to hold one table at a time
        alike: dict[Key, list[Key]] = defaultdict(list)
        for key in found:
            if place < len(key) and _says(key[place]) and not outcome_in(key[place]):
                alike[_blank(key, [place])].append(key)
        for keys in alike.values():
            if len(keys) < min(evidence.soft, evidence.hard):
                continue
            need = _needed(keys[0], [place], evidence)
            if need <= evidence.alone and all(found[key].soft[place] for key in keys):
                need = evidence.soft
            if len(keys) >= need:
                for key in keys:
                    slots[key].add(place)
    return slots


def _needed(key: Key, places: list[int], evidence: Evidence) -> int:
    """How many values the words at some places of a key must take to be slots."""
    words = [n for n, part in enumerate(key) if _says(part)]
    others = len(words) - len(places)
    if not others:
        return 1 << 62
    return evidence.hard if others >= 2 and words[0] not in places else evidence.alone


def _rare(found: dict[Key, Cluster], evidence: Evidence) -> Slots:
    """Words that few clusters have, where all other words are the same: several slots of one statement at once."""
    clusters_with = Counter(part for key in found for part in set(key) if _says(part) and not outcome_in(part))
    few = 1
    slots: Slots = defaultdict(set)
    while few < len(found) // evidence.hard and not slots:
        alike: dict[Key, list[Key]] = defaultdict(list)
        for key in found:
            places = [n for n, part in enumerate(key) if 0 < clusters_with.get(part, 0) <= few]
            if len(places) > 1:
                alike[_blank(key, places)].append(key)
        for blank, keys in alike.items():
            if len(keys) < evidence.hard:
                continue
            places = [n for n, part in enumerate(blank) if part == SLOT and keys[0][n] != SLOT]
            need = _needed(keys[0], places, evidence)
            for place in places:
                if len({key[place] for key in keys}) >= need:
                    for key in keys:
                        slots[key].add(place)
        few *= 2
    return slots


def _familiar(found: dict[Key, Cluster], evidence: Evidence, values: set[str]) -> Slots:
    """Words that are values elsewhere and differ where all else is the same."""
    alike: dict[Key, list[Key]] = defaultdict(list)
    for key in found:
        alike[_blank(key, (n for n, part in enumerate(key) if part in values and not outcome_in(part)))].append(key)
    slots: Slots = defaultdict(set)
    for blank, keys in alike.items():
        need = evidence.familiar if sum(map(_says, blank)) >= 2 else evidence.soft
        if len(keys) < need or not any(map(_says, blank)):
            continue
        for place, part in enumerate(blank):
            if part == SLOT and len({key[place] for key in keys}) >= need:
                for key in keys:
                    if key[place] != SLOT:
                        slots[key].add(place)
    return slots


def _tails(found: dict[Key, Cluster], evidence: Evidence) -> Slots:
    """What follows a colon, to the end or to the closing bracket, where it differs under one and the same beginning."""
    alike: dict[tuple[Key, Key], list[tuple[Key, int, int]]] = defaultdict(list)
    for key, cluster in found.items():
        shape, parts = cluster.shapes[0]
        for place in range(2, len(key)):
            if not shape.startswith(": ", parts[place - 1].end) or not _sentence(key[:place]):
                continue
            end = next((n for n in range(place, len(key)) if key[n] in (")", "]")), len(key))
            if end - place > 1 or (end > place and not outcome_in(key[place])):
                alike[key[:place], key[end:]].append((key, place, end))
    slots: Slots = defaultdict(set)
    for same in alike.values():
        if len(same) >= evidence.tail:
            for key, place, end in same:
                if end - place > 1 or key[place] != SLOT:
                    slots[key].update(range(place, end))
    return slots


def _sentence(begin: Key) -> bool:
    """Whether what stands before a colon says something, and is not only the name of what is speaking."""
    words = 0
    for part in reversed(begin):
        words += part.isalpha() and (part.islower() or part.istitle()) and part.lower() not in JOINING
    return words >= 2
