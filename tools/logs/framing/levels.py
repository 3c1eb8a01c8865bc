"""Level words of every habit, as one of trace, debug, info, warn, error, fatal; and numbers of the known scales."""

WORDS = {
    "trace": "trace", "finest": "trace", "finer": "trace", "verbose": "trace", "verb": "trace", "trc": "trace",
    "debug": "debug", "dbg": "debug", "fine": "debug", "config": "debug", "debu": "debug",
    "info": "info", "information": "info", "informational": "info", "inf": "info", "notice": "info", "log": "info",
    "warn": "warn", "warning": "warn", "wrn": "warn", "warni": "warn",
    "error": "error", "err": "error", "severe": "error", "failure": "error", "erro": "error",
    "fatal": "fatal", "crit": "fatal", "critical": "fatal", "alert": "fatal", "emerg": "fatal", "emergency": "fatal",
    "panic": "fatal", "ftl": "fatal",
}
_LETTERS = {"T": "trace", "V": "trace", "D": "debug", "I": "info", "W": "warn", "E": "error", "F": "fatal",
            "C": "fatal"}
_SYSLOG = ("fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug")
_TENS = {10: "trace", 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal"}
_WORDS_TOO = {"LOG", "FINE", "CONFIG", "PANIC", "ALERT", "FAILURE"}
_COMMON = ("INFO", "ERROR", "WARN", "DEBUG")
BARE = "|".join((*_COMMON, *sorted({w.upper() for w in WORDS} - _WORDS_TOO - set(_COMMON), key=len, reverse=True)))
"""Words that are a level when they stand alone in capitals; others only in brackets or in a field."""


def level(text: str) -> str:
    """The level that a word, a letter or a number of a field means; "" where it means none."""
    text = text.strip()
    if text.isdigit():
        number = int(text)
        return _SYSLOG[number] if number < 8 else _TENS.get(number, "")
    return WORDS.get(text.lower(), "") or _LETTERS.get(text, "")


def of_priority(priority: str) -> str:
    """The level in a syslog `<PRI>` number."""
    return _SYSLOG[int(priority) % 8]
