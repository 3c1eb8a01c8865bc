"""How a message says that something went: a facet beside its template, so that rates split by it.

A template keeps HTTP statuses and exit codes as slots; the outcome reads them, and else the levels and outcome words
of the text. HTTP classes are of RFC 9110; an exit code over 128 is left as it is (128 + signal, as shells have it).
"""

import re

from enlist.tools.logs.templates.keys import cut
from enlist.tools.logs.templates.words import FAILURE, SUCCESS

_END = r"""["']?(?:\s+(?:with|was|is|of))?(?:\s+(?:exit\s+)?(?:code|status))?\s*[:=]?\s*["']?"""
_SIGNALS = "hup|int|quit|ill|trap|abrt|bus|fpe|kill|usr1|segv|usr2|pipe|alrm|term|stop|xcpu|xfsz"  # POSIX.1
_CODE = r"(-?\d{1,10})(?![\w.])"
# Each with the text that a message must hold for it, all in small letters: to look for that first is much quicker.
_NUMBERED = (
    ("exit", "exit", re.compile(rf"exit(?:ed)?(?:[ _-]?(?:code|status|value))?{_END}{_CODE}")),
    ("return", "exit", re.compile(rf"return(?:ed)?[ _-]?(?:code|status){_END}{_CODE}")),
    ("rc", "exit", re.compile(rf"(?<![a-z0-9])rc[\"']?\s*[:=]\s*[\"']?{_CODE}")),
    ("retcode", "exit", re.compile(rf"retcode[\"']?\s*[:=]?\s*[\"']?{_CODE}")),
    ("sig", "signal", re.compile(
        rf"signal\s*[:=]?\s*(?:sig)?({_SIGNALS}|\d{{1,2}})(?!\w)|(?<!\w)sig({_SIGNALS})(?!\w)")),
    ("http", "http", re.compile(
        r"""http(?:/\d(?:\.\d)?["']?\s+|(?:[ _-]?(?:status|error|code))*["']?[: =]+)([1-5]\d\d)(?!\w)""")),
    ("status", "http", re.compile(r"""status(?:[ _-]?code)?["']?\s*[:=]?\s*["']?([1-5]\d\d)(?!\w)""")),
    ("response", "http", re.compile(r"""response(?:[ _-]?code)?["']?\s*[:=]?\s*["']?([1-5]\d\d)(?!\w)""")),
)
_LEVELS = {
    **dict.fromkeys(("fatal", "critical", "crit", "emerg", "emergency", "alert", "panic"), "fatal"),
    **dict.fromkeys(("error", "err", "severe"), "error"),
    **dict.fromkeys(("warn", "warning"), "warning"),
}
_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+(?![^\W_])(?:'t)?")
_NOT = frozenset({"not", "no", "never", "cannot", "without"})
_TELLING = FAILURE | SUCCESS | frozenset(_LEVELS)


def outcome(message: str) -> str:
    """`http:5xx`, `exit:137`, `signal:9`, `fatal`, `error`, `warning`, `failed`, `succeeded`, or "" where none is said.

    The first of these that applies. A word of success after a negation is a failure and the other way round.
    """
    small = cut(message).lower()
    return _numbered(small) or _worded(small)


def numbered(message: str) -> bool:
    """Whether the outcome of a message in small letters may depend on its numbers."""
    return any(word in message for word, _, _ in _NUMBERED)


def _numbered(message: str) -> str:
    for word, kind, pattern in _NUMBERED:
        if word in message and (found := pattern.search(message)):
            said = next(value for value in found.groups() if value)
            if kind == "http":
                return f"http:{said[0]}xx"
            return f"exit:{int(said)}" if kind == "exit" else f"signal:{said.upper()}"
    return ""


def _worded(message: str) -> str:
    words = _WORD.findall(message)
    if _TELLING.isdisjoint(words):
        return ""
    levels = [level for word in words if (level := _LEVELS.get(word))]
    if levels:
        return min(levels, key=("fatal", "error", "warning").index)
    said = ""
    for before, word in zip(["", *words], words, strict=False):
        if word in FAILURE or word in SUCCESS:
            negated = before in _NOT or before.endswith("'t")
            if (word in FAILURE) != negated:
                return "failed"
            said = "succeeded"
    return said
