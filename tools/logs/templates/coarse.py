"""Coarser shapes, for logs whose words never repeat.

Level 0 is the shape itself. Each level is a function of the level before it, so that all lines at one level give one
set of shapes in whatever order they came: 1 leaves out names (what is no plain word), 2 all words but outcome words and
words that join, 3 all but the first six of what is left, 4 everything. What is left out is `CUT`, any text.
"""

import re

from enlist.tools.logs.templates.keys import CUT
from enlist.tools.logs.templates.words import JOINING, outcome_in

LAST = 4
SAID = (
    "every shape of message is kept",
    "names were left out of the shapes of messages: more than can be kept came",
    "only outcome words and joining words were kept in the shapes of messages: more than can be kept came",
    "only the first six outcome and joining words were kept in the shapes of messages: more than can be kept came",
    "all messages are one template: no two are alike",
)
_NAMES = re.compile(rf"[^\s{CUT}]*[^\sA-Za-z{CUT}.,:;!?][^\s{CUT}]*")
_WORDS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(rf"[^\w\s]*{CUT}(?:[^\w]*{CUT})*[^\w\s]*")
_KEPT = 6


def coarser(shape: str, level: int) -> str:
    """The shape at `level` of one at the level before."""
    if level == 1:
        return _runs(_NAMES.sub(CUT, shape))
    if level == 2:
        return _runs(re.sub(r"[^\W_]+|_", lambda found: _kept(found[0]), shape))
    if level == 3:
        words = list(_WORDS.finditer(shape))
        return shape if len(words) <= _KEPT else _runs(shape[: words[_KEPT].start()] + CUT)
    return CUT


def at_level(shape: str, level: int) -> str:
    for step in range(1, level + 1):
        shape = coarser(shape, step)
    return shape


def _kept(word: str) -> str:
    return word if word.lower() in JOINING or outcome_in(word) else CUT


def _runs(shape: str) -> str:
    return _RUNS.sub(CUT, shape)
