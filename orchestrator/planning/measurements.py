"""Measurements that the user states: "it takes 9.8 ms on an H100", "3500 tokens/s".

A quantity that is a target, a limit or an interval ("within 10 ms", "deadline 5 s", "every 5 s") is no measurement.
Bare numbers of seconds, minutes and hours are read only beside a word that says something was timed, since people
write "for 5 minutes" about much else.
"""

import re
from typing import Literal

from enlist.orchestrator.planning.devices import find_devices
from enlist.orchestrator.planning.lexicon import ends
from enlist.orchestrator.request import Measurement

_NUMBER = (r"(?<![\w.,:/$€£+±~-])(?<!\d )"
           r"(?:\d{1,3}(?:[ ,]\d{3})+(?:\.\d+)?|\d{1,9}(?:[.,]\d{1,9})?(?:[eE][+-]?\d{1,2})?)")
_TIME_UNITS = {
    "ns": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
    "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
    "mikrosekunden": 1e-6, "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "millisekunden": 1e-3, "milisegundos": 1e-3, "millisecondes": 1e-3, "毫秒": 1e-3,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "sekunden": 1.0, "segundos": 1.0,
    "secondes": 1.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0,
    "hours": 3600.0,
}
_SAMPLES = r"samples?|images?|frames?|sequences?|sequenzen|examples?|requests?|img|imgs"
_LONG_UNITS = "|".join(sorted((u for u in _TIME_UNITS if len(u) > 2), key=len, reverse=True))
_SHORT_UNITS = "|".join(sorted((u for u in _TIME_UNITS if len(u) <= 2), key=len, reverse=True))  # "12 MS" is no time
_QUANTITY = re.compile(
    rf"(?P<number>{_NUMBER})(?:[ \u00a0]?(?:±|\+/-)[ \u00a0]?\d+(?:[.,]\d+)?)?(?P<kilo>(?-i:[kKM]))?[ \u00a0\u202f]?(?:"
    rf"(?P<tokens>(?:tokens?|toks?) ?(?:/ ?s(?:ec(?:ond)?)?|per second|a second|pro sekunde)\b|tps\b)"
    rf"|(?P<samples>(?:{_SAMPLES}) ?(?:/ ?s(?:ec(?:ond)?)?|per second|a second|pro sekunde)\b)"
    rf"|(?P<time>{_LONG_UNITS}|(?-i:{_SHORT_UNITS}))(?![\w²]|\^|-?(?:long|timeout|window|interval|deadline|budget|target|limit|sla))"
    rf"(?P<per> ?(?:/|per|pro|an?|each) ?(?:step|iteration|iter|batch|forward|token|call|image|sample|epoch"
    rf"|schritt|inference)\b)?)", re.I)
_TARGET = re.compile(
    r"\b(?:within|under|below|target\w*|deadline\w*|budget\w*|at most|less than|no more than|max(?:imum)?|limit\w*"
    r"|time-?outs?|goals?|should|must|needs?|wants?|would like|hit|reach\w*|meet\w*|slas?|slo|up to|require\w*"
    r"|faster than|shorter than|down to|every|last|first|past|next|after|before|sleeps?|waits?|intervals?|window|ago"
    r"|hope|aim\w*|allow\w*|could|can it|can i|can we|possible|unter|innerhalb|höchstens|maximal|soll|ziel|menos de"
    r"|moins de|objetivo|objectif)\b|[<≤]", re.I)
_TIMED = re.compile(
    r"\b(?:takes?|took|taking|takes about|measured?|measures|measurement|(?:runs?|ran|running) (?:in|at|for)"
    r"|runtime|run time|latency|timed?|timing|clocks?|clocked|profil\w+|observed?|observe|currently|now|gets?|getting"
    r"|got|achieves?|needs|benchmarked|see|seeing|is|was|of|at|dauert|braucht|gemessen|tarda|prend|durée|tiempo|laufzeit"
    r"|step|per)\b|:|=|耗时", re.I)
_REDUCE = re.compile(r"\b(?:from|down|reduce\w*|cut|bring|lower|get)\b[^.;!?]*\bto\s+(?:about |around |~)?$", re.I)
_CLAUSE_END = re.compile(r"[;!?\n]|[.,](?=\s)|\b(?:but|and|aber|und|pero|mais)\b")


_DENIED = re.compile(
    r"\b(?:not|never|no longer|cannot|\w+n['’]t|if|unless|would|used to|were to|suppose|assum\w+|imagine|does it|did it"
    r"|do they|nicht|kein\w*|wenn|falls|würde|früher|no tarda|si tarda|ne prend|si ça)\b", re.I)
"""Before a quantity in its clause: it is denied, supposed, asked for or past."""
_PART = re.compile(r"\s*(?:/|per|pro|each|an?|in (?:the|each|one)) ?"
                   r"(?:layer|block|kernel|head|op|operator|stage|gpu|rank)\b", re.I)
_ON_CPU = re.compile(r"\bon (?:an? |the |my |our |this )?(?:cpu|laptop|macbook)\b", re.I)


def read_measurements(text: str) -> tuple[Measurement, ...]:
    """The measurements stated in `text`, in order; each quote is a substring of `text`."""
    found: list[Measurement] = []
    text = ends(text)
    matches = [m for m in _QUANTITY.finditer(text) if not _ranged(text, m)]
    devices = list(find_devices(text))
    for i, match in enumerate(matches):
        value = _value(match)
        if value <= 0 or not _stated(text, match):
            continue
        until = matches[i + 1].start() if i + 1 < len(matches) else len(text)
        since = matches[i - 1].end() if i else 0
        found.append(Measurement(quantity=_quantity(match), value=value, quote=match[0],
                                 device=_device(text, match, since, until, devices)))
    return tuple(found)


def _quantity(match: re.Match[str]) -> Literal["time", "token_rate", "sample_rate"]:
    return "token_rate" if match["tokens"] else "sample_rate" if match["samples"] else "time"


def _value(match: re.Match[str]) -> float:
    number = match["number"].replace(" ", "")
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")  # thousands as English writes them
    value = float(number.replace(",", "."))
    if match["time"]:
        return float(f"{value * _TIME_UNITS[match['time'].lower()]:.12g}")
    return value * {"k": 1e3, "K": 1e3, "M": 1e6, None: 1.0}[match["kilo"]]


def _ranged(text: str, match: re.Match[str]) -> bool:
    """A range is not one number: "9-10 ms", "9 to 10 ms" (but "from 12 ms to 9 ms" are two)."""
    before = text[max(0, match.start() - 24): match.start()]
    return bool(re.search(r"\d\s?[-–—]\s?$|\d (?:to|bis|or) $|between \d+ and $", before)) or bool(
        match["time"] and match["kilo"])


def _stated(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 60): match.start()]
    start = max((m.end() for m in _CLAUSE_END.finditer(before)), default=0)
    clause = before[start:]
    rest = text[match.end(): match.end() + 24].lower()
    after = _CLAUSE_END.split(rest, maxsplit=1)[0]
    if _REDUCE.search(before) or re.match(
            r"\s*(?:or less|or faster|deadline|budget|target|limit|time-?out|sla|ago|window|at most|max\b|interval"
            r"|later|goal)", after):
        return False
    if _DENIED.search(clause) or _PART.match(rest):
        return False
    targets, timed = list(_TARGET.finditer(clause)), list(_TIMED.finditer(clause))
    if targets and (not timed or timed[-1].start() <= targets[-1].start() or _weak(timed[-1][0])):
        return False
    bare = match["time"] and _TIME_UNITS[match["time"].lower()] >= 1.0 and not match["per"]
    return not bare or bool(timed) or (not clause.strip() and not after.strip(" .!"))


def _weak(word: str) -> bool:
    """Words that stand beside targets as well: "the target is 10 ms"."""
    return word.lower() in {"is", "was", "of", "at", ":", "=", "latency", "step", "per", "runtime", "get", "run time"}


def _device(text: str, match: re.Match[str], since: int, until: int, devices: list[re.Match[str]]) -> str | None:
    """The device named in the same clause after the quantity, else the last one before it in its sentence."""
    end = _CLAUSE_END.search(text, match.end(), until)
    stop = end.start() if end else until
    clause = max((m.end() for m in _CLAUSE_END.finditer(text, since, match.start())), default=since)
    if (cpu := _ON_CPU.search(text, clause, stop)) is not None:
        return cpu[0].split()[-1]
    for device in devices:
        if match.end() <= device.start() and device.end() <= stop:
            return device[0]
    sentence = max((m.end() for m in re.finditer(r"[.!?;\n](?=\s)", text[since: match.start()])), default=0) + since
    before = [d[0] for d in devices if sentence <= d.start() and d.end() <= match.start()]
    return before[-1] if before else None
