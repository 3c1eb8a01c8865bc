"""Secrets and personal data taken out of texts that leave the machine.

Each value becomes a mark with a number, the same for the same value throughout one masking, so that a reader still sees
that two lines speak of one client. Line references, service names and times stay.
"""

import re
from functools import partial
from typing import Any

_KINDS = (
    ("key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)")),
    ("token", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?")),
    ("secret", re.compile(r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})")),
    ("secret", re.compile(r"(?i)[\w.-]*(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|"
                          r"auth(?:orization)?|credential|session[_-]?id|cookie)[\w-]*"
                          r"[\"']?\s*[=:]\s*[\"']?([^\s\"',;&}]{3,})")),
    ("secret", re.compile(r"\b((?:AKIA|ASIA|ghp_|gho_|glpat-|xox[abp]-|sk-|pk_|rk_)[\w-]{12,})")),
    ("login", re.compile(r"://([^\s/:@]+:[^\s/@]+)@")),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")),
    ("ip", re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\d)")),
    ("ip", re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}(?![\w:])|"
                      r"(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){1,6}:(?:[0-9A-Fa-f]{1,4}:){0,5}[0-9A-Fa-f]{1,4}(?![\w:])")),
    ("card", re.compile(r"(?<![\w.-])(?:\d[ -]?){12,18}\d(?![\w.-])")),
    ("phone", re.compile(r"(?<![\w.])\+\d{1,3}[ -]?(?:\(\d{1,4}\)[ -]?)?\d{2,4}(?:[ -]?\d{2,4}){1,4}(?![\w.])")),
    ("mac", re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:])")),
)
_PLACES = ("file", "time_utc", "start_utc", "end_utc", "event", "cause", "line", "byte")


class Masking:
    """Replaces values by numbered marks; one instance gives one value one mark."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def text(self, text: str) -> str:
        """A text without secrets and personal data."""
        for kind, pattern in _KINDS:
            text = pattern.sub(partial(self._masked, kind), text)
        return text

    def document(self, value: Any) -> Any:
        """A JSON document with every text masked but references and times."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.document(v) for v in value]
        if isinstance(value, dict):
            return {k: v if k in _PLACES else self.document(v) for k, v in value.items()}
        return value

    def _masked(self, kind: str, match: re.Match[str]) -> str:
        whole = match[0]
        if kind == "card" and not _luhn(re.sub(r"\D", "", whole)):
            return whole
        if match.lastindex:
            start, end = match.start(1) - match.start(), match.end(1) - match.start()
            return whole[:start] + self._mark(kind, match[1]) + whole[end:]
        return self._mark(kind, whole)

    def _mark(self, kind: str, value: str) -> str:
        if value.startswith("<") and value.endswith(">"):
            return value
        known = self._marks.get((kind, value))
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._marks[kind, value] = f"<{kind}-{self._counts[kind]}>"
        return known


def _luhn(digits: str) -> bool:
    total = 0
    for i, c in enumerate(reversed(digits)):
        n = int(c) * (2 if i % 2 else 1)
        total += n - 9 if n > 9 else n
    return total % 10 == 0
