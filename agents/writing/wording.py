"""Whether a model's wording may stand for a sentence: a check of words, which no model takes part in.

A wording may change punctuation, small words that carry no fact ("the", "it is", "takes"), and a few phrases for their
equals ("at least", "no less than"). All else - numbers, units, names, quoted text, every other word - must be that of
the plain sentence, and in its order: so no number changes, none moves to another thing, and nothing is added or left
out. It is stricter than it need be; a sentence that is refused is shown as the tools rendered it.
"""

import re
from itertools import zip_longest

SMALL = frozenset((
    "a", "an", "the", "this", "that", "these", "those", "it", "its", "they", "their", "is", "are", "was", "were", "be",
    "been", "has", "have", "of", "on", "for", "in", "at", "and", "also", "which", "as", "there", "here", "then", "thus",
    "takes", "take", "needs", "need"))
# "to", "by", "from", "or", "if", "not" and their like are not small: they turn what a number says.
EQUALS = (("at least", "no less than", "not less than", "no fewer than"),
          ("at most", "no more than", "not more than", "up to"),
          ("about", "roughly", "approximately", "around"),
          ("per", "for each", "for every"), ("unknown", "not known"), ("largest", "biggest"), ("with", "using"))
EDGES = ".,;:()"
GROWTH, ROOM = 2, 80  # a wording may have twice the characters of the sentence and 80 more
SHOWN = 40  # characters of a word that are quoted

_PHRASES = {words: group[0] for group in EQUALS for words in group}
_PHRASE = re.compile(r"\b(" + "|".join(sorted(map(re.escape, _PHRASES), key=len, reverse=True)) + r")\b", re.I)


def refusal(plain: str, worded: str) -> str | None:
    """Why a wording may not stand for a plain sentence, or None where it may."""
    if not worded.strip():
        return "it is empty"
    if len(worded) > GROWTH * len(plain) + ROOM:
        return "it is too long"
    for ours, theirs in zip_longest(weighty(plain), weighty(worded)):
        if ours != theirs:
            number = any(c.isnumeric() for c in f"{ours or ''}{theirs or ''}")
            return f"it changed {'a number' if number else 'a word'}: {_quoted(theirs)} for {_quoted(ours)}"
    return None


def weighty(text: str) -> list[str]:
    """The words of a sentence that a wording must keep, in order; phrases that are equals by the first of them."""
    found = []
    # Only plain spaces part words: whatever else looks like one stays in its word, which then is another word.
    for word in _PHRASE.sub(lambda m: _PHRASES[m[0].lower()].replace(" ", "_"), text).split(" "):
        bare = word.strip(EDGES)
        if bare and bare.isascii() and bare.isalpha() and (bare.islower() or bare.istitle()):
            bare = bare.lower()  # the first word of a sentence is another one now
        if bare and bare not in SMALL:
            found.append(bare)
    return found


def _quoted(word: str | None) -> str:
    return "nothing" if word is None else repr(word[:SHOWN].replace("_", " "))
