"""Full-text search words: the same for every backend, in any script.

Text is cut into words of letters and digits, without case and without Latin, Greek and Cyrillic accents. Characters of
scripts that put no blanks between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese) are words of their own, and a
query's run of them is a phrase: a word of two characters is found, which a trigram index cannot do.
"""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff])")
_ACCENTS = re.compile("[\u0300-\u036f]")  # Unicode block Combining Diacritical Marks
INDEXED_CHARACTERS = 200_000
"""How much of a text is indexed: Postgres holds at most 1 MiB of words per row (a tsvector's limit)."""

LONGEST_WORD = 200
"""Characters of a word that count: Postgres refuses words of 2 KiB."""


def words(text: str) -> list[str]:
    """The words of `text` in order."""
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text))).casefold()
    return [word[:LONGEST_WORD] for word in _WORD.findall(_UNSPACED.sub(r" \1 ", plain))]


def indexed(text: str) -> str:
    """What a backend indexes for `text`: its words with a blank between them."""
    return " ".join(words(text[:INDEXED_CHARACTERS]))


def phrases(query: str, most: int = 64) -> list[list[str]]:
    """A query as phrases that must all occur: the words of each blank-separated piece, at most `most` pieces."""
    found = {tuple(words(piece)): None for piece in query.split()}
    return [list(phrase) for phrase in found if phrase][:most]
