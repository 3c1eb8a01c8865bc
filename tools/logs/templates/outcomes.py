"""How a message says that something went: a facet beside its template, so that rates split by it.

A template keeps HTTP statuses and exit codes as slots; the outcome reads them, and else the levels and outcome words
of the text. HTTP classes are of RFC 9110; an exit code over 128 is left as it is (128 + signal, as shells have it).
"""

import re

from enlist.tools.logs.templates.words import FAILURE, SUCCESS

_HTTP = re.compile(
    r"""HTTP/\d(?:\.\d)?["']?\s+([1-5]\d\d)\b"""
    r"""|\b(?:http[ _-]?)?(?:status|response)(?:[ _-]?code)?["']?\s*[:=]?\s*["']?([1-5]\d\d)\b"""
    r"""|\bHTTP(?:\s+error)?[: ]\s*([1-5]\d\d)\b""",
    re.I,
)
_EXIT = re.compile(
    r"""\b(?:exit(?:ed)?(?:[ _-]?(?:code|status|value))?|return(?:ed)?[ _-]?(?:code|status)|rc|retcode)["']?"""
    r"""(?:\s+(?:with|was|is|of))?(?:\s+(?:exit\s+)?(?:code|status))?\s*[:=]?\s*["']?(-?\d{1,10})\b""",
    re.I,
)
_SIGNAL = re.compile(r"\b(?:signal|received)\s*[:=]?\s*(SIG[A-Z0-9]+|\d{1,2})\b")
_LEVEL = re.compile(
    r"\b(?:(fatal|critical|crit|emerg|emergency|alert|panic)|(error|err|severe)|(warn|warning))\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+")
_NOT = frozenset({"not", "no", "never", "cannot", "without"})


def outcome(message: str) -> str:
    """`http:5xx`, `exit:137`, `signal:9`, `fatal`, `error`, `warning`, `failed`, `succeeded`, or "" where none is said.

    The first of these that applies. A word of success after a negation is a failure and the other way round.
    """
    if found := _HTTP.search(message):
        status = next(code for code in found.groups() if code)
        return f"http:{status[0]}xx"
    if found := _EXIT.search(message):
        return f"exit:{int(found[1])}"
    if found := _SIGNAL.search(message):
        return f"signal:{found[1].removeprefix('SIG')}"
    if found := _LEVEL.search(message):
        return "fatal" if found[1] else "error" if found[2] else "warning"
    return _words(message)


def _words(message: str) -> str:
    said = ""
    negated = False
    for found in _WORD.finditer(message):
        word = found[0].lower()
        if word in FAILURE or word in SUCCESS:
            failed = (word in FAILURE) != negated
            if failed:
                return "failed"
            said = "succeeded"
        negated = word in _NOT or (word == "t" and message[found.start() - 1 : found.start()] == "'")
    return said
