"""Which names, ids, versions and counts a summary speaks of, and which of them the logs hold.

A name is what stands in a field for a service, a token with a digit, or a hyphenated word whose first part is from the
list that names are drawn from. Times, dates, durations, shares and multiples are not looked at: they are
worked out, not quoted. A bare number must occur in the logs, or count lines and not exceed them.
"""

import re
from collections.abc import Iterable, Mapping

from enlist.environments.incident_logs.answer import MOST_CLAIMS, MOST_EVENTS, Answer
from enlist.environments.incident_logs.words import FIRST

_TIMES = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
                    r"|\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b(?: ?(?:Z|UTC))?")
_UNITS = re.compile(r"[~±]?\b\d[\d,.]*(?:e-?\d+)? ?(?:%|×|x\b|ns\b|us\b|ms\b|s\b|sec\w*|min\w*|h\b|hours?|days?|"
                    r"per ?cent|per\b|/s|times\b|in 100|of 100|[kMG]i?B\b|-fold)", re.I)
_COUNTED = re.compile(r"\b(\d[\d,]*) (?:\w+ ){0,2}(?:lines?|records?|errors?|warnings?|requests?|events?|entries|"
                      r"calls?|messages?|templates?|services?|files?|occurrences?|failures?)\b", re.I)
_TOKEN = re.compile(r"[A-Za-z0-9_][\w./:-]*[A-Za-z0-9]|\d")
_FIRST = frozenset(FIRST)


def named(answer: Answer) -> tuple[set[str], list[int]]:
    """Entities that must occur in the logs, and counts of lines that must not exceed them."""
    told = [answer.root_cause.trigger, answer.impact, *(c.text for c in answer.claims[:MOST_CLAIMS]),
            *(m.claim for m in answer.timeline[:MOST_EVENTS])]
    found = {m.service for m in answer.timeline[:MOST_EVENTS] if m.service}
    found |= {answer.root_cause.component} if answer.root_cause.component else set()
    counts: list[int] = []
    for text in told:
        text = _TIMES.sub(" ", text)
        counts += [int(m[1].replace(",", "")) for m in _COUNTED.finditer(text)]
        text = _UNITS.sub(" ", _COUNTED.sub(" ", text))
        found |= {token for token in _TOKEN.findall(text) if _is_entity(token)}
    return found, counts


def _is_entity(token: str) -> bool:
    return any(c.isdigit() for c in token) or ("-" in token and token.partition("-")[0].lower() in _FIRST)


def precision(answer: Answer, files: Mapping[str, str], services: Iterable[str]) -> tuple[float, list[str]]:
    """The share of what is named that the logs hold, 1 where nothing is named; and what they do not hold."""
    entities, counts = named(answer)
    known, total = {s.lower() for s in services}, sum(text.count("\n") for text in files.values())
    missing = [e for e in sorted(entities) if e.lower() not in known and not _occurs(e, files)]
    missing += [str(count) for count in counts if count > total and not _occurs(str(count), files)]
    whole = len(entities) + len(counts)
    return (1 - len(missing) / whole if whole else 1.0), missing


def _occurs(entity: str, files: Mapping[str, str]) -> bool:
    """Whether some line holds it, not as a part of a longer word or number; names of files count as lines."""
    pattern = re.compile(rf"(?<![A-Za-z0-9]){re.escape(entity)}(?![A-Za-z0-9])")
    return any(entity in name or (entity in text and pattern.search(text)) for name, text in files.items())
