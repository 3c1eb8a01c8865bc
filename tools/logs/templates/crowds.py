"""Many shapes to few before they are compared: words that hardly any other shape has are slots, where there is a crowd.

Comparing shapes costs a hundred times what counting them does. Where a log has thousands of shapes, nearly all differ
in words that never come again (names, paths). Here a word is what stands between spaces, without brackets and without
what comes before `=`. The rare words of a shape are blanked; where enough shapes then look alike, with enough
different words in each blank and enough other words in common, one stands for all. This asks for more evidence than the
comparison would (`Evidence.alone` values for each slot), and is a function of the set of shapes.
"""

from collections import Counter, defaultdict
from collections.abc import Collection
from itertools import chain

from enlist.tools.logs.templates.keys import CUT, WORD
from enlist.tools.logs.templates.text import shared_ends
from enlist.tools.logs.templates.words import JOINING, outcome_in

_MANY = 1_000  # shapes, below which all are compared
_SHARE = 1_000  # a word is rare that comes at most once in so many shapes
_AROUND = "()[]{}<>,.:;'\"!?"


def stand_ins(shapes: Collection[str], enough: int) -> dict[str, list[str]]:
    """The shapes to compare, each with those that it stands for; a slot for one word is `WORD`."""
    if len(shapes) < _MANY:
        return {shape: [shape] for shape in shapes}
    split = {shape: tuple(shape.split(" ")) for shape in shapes}
    few = max(1, len(shapes) // _SHARE)
    uses = Counter(chain.from_iterable(split.values()))
    rare = {token: _blanked(token) for token, count in uses.items() if count <= few}
    alike: dict[str, list[str]] = defaultdict(list)
    for shape, tokens in split.items():
        alike[" ".join([rare.get(token, token) for token in tokens])].append(shape)
    out: dict[str, list[str]] = {}
    for blank, members in alike.items():
        if stand_in := _stand_in(blank.split(" "), [split[shape] for shape in members], enough):
            out.setdefault(stand_in, []).extend(members)
        else:
            for shape in members:
                out.setdefault(shape, []).append(shape)
    return out


def _blanked(token: str) -> str:
    core = token.strip(_AROUND)
    core = core[core.rfind("=") + 1 :]
    if not core or outcome_in(core) or CUT in core or any(map(str.isspace, core)):
        return token
    at = token.rfind(core)
    return token[:at] + WORD + token[at + len(core) :]


def _stand_in(blank: list[str], members: list[tuple[str, ...]], enough: int) -> str:
    """What stands for shapes that are alike but for their rare words; "" where they are no crowd."""
    known = sum(token.isalpha() and len(token) > 1 and token.lower() not in JOINING for token in blank)
    if len(members) < enough or known < 2:
        return ""
    out = list(blank)
    for place, token in enumerate(blank):
        if WORD in token:
            values = {tokens[place] for tokens in members}
            if len(values) < enough:
                return ""
            begin, end = shared_ends(values)
            out[place] = begin + WORD + end
    return " ".join(out)
