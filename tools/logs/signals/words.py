"""Words of trouble, of change and of beginning anew: plain English of operations, no product's own."""

import re
from collections.abc import Mapping


def phrases(text: str) -> re.Pattern[str]:
    """Any of some words; a word may be a pattern, `_` in it stands for a space or a dash."""
    every = sorted((w.replace("_", r"[\s_-]") for w in text.split()), key=len, reverse=True)
    return re.compile(rf"(?i)(?<![A-Za-z])(?:{'|'.join(every)})(?![A-Za-z])")


_TROUBLE = phrases("""
    fail(?:s|ed|ure|ures|ing)? errors? exceptions? fatal panic(?:ked)? crash(?:ed|ing)? abort(?:ed|ing)? timed?_?out
    timeouts? refused denied unreachable unavailable unable cannot can't could_not couldn't lost killed
    corrupt(?:ed|ion)? expired exceed(?:s|ed|ing)? exhausted overflow(?:ed)? deadlock(?:ed)? stuck stall(?:ed|ing)?
    reject(?:ed|ing)? invalid mismatch no_space full broken drop(?:ped|ping)? unhealthy degraded
    not_(?:found|known|valid|ready|responding) no_(?:route|such) giving_up gave_up throttl(?:ed|ing) evicted oom
    out_of_memory segfault 5\\d\\d""")
_MILD = phrases("""
    slow retry(?:ing)? retries delayed late behind backlog high low waiting pending warn(?:ing)? missed skipp(?:ed|ing)
    backoff backing_off queue(?:d|ing)? reconnect(?:ing|ed)? restart(?:ed|ing)? 429""")
_CHANGE = phrases("""
    deploy(?:ed|ing|ment)? roll(?:ed|ing)?_?(?:out|back) releas(?:e|ed|ing) upgrad(?:e|ed|ing) version revision build
    config(?:uration)?s? settings? flags? toggle[ds]? feature reload(?:ed|ing)? appl(?:ied|ying)
    migrat(?:e|ed|ion|ing) patch(?:ed)? promot(?:e|ed) scal(?:ed|ing)_(?:up|down|to) rotat(?:e|ed|ion) renew(?:ed)?
    switch(?:ed|over) fail(?:ed)?_?over changed? updat(?:e|ed|ing) purg(?:e|ed|ing) flush(?:ed|ing)?
    invalidat(?:e|ed|ing) import(?:ed|ing)? enabl(?:e|ed|ing) disabl(?:e|ed|ing) revoked maintenance""")
_BEGIN = phrases("""
    start(?:ed|ing|up) boot(?:ed|ing)? initiali[sz](?:ed|ing) listening_(?:on|at) ready_to_(?:serve|accept)
    accepting_connections up_and_running launch(?:ed|ing) bound_to""")
_MEND = phrases("""
    roll(?:ed|ing)?_?back revert(?:ed|ing)? restor(?:e|ed|ing) renew(?:ed|al)? recover(?:ed|y|ing)?
    fail(?:ed|ing)?_?over mitigat(?:e|ed|ion) healthy_again resolved circuit_closed drain(?:ed|ing)? expand(?:ed)?
    freed reclaimed clean(?:ed)?_?up raised increas(?:e|ed) terminated_(?:session|blocking) manual(?:ly)? operator
    on-?call scaled purged resync(?:ed|hroni[sz]ed)? back_to_normal resumed""")
_DETECT = phrases("""
    alert(?:s|ed|ing)? alarms? page[dr]? paging incident slo threshold breach(?:ed)? probe health_?check
    monitor(?:ing)? watchdog firing notified escalat(?:e|ed)""")


_OVER = phrases("""
    clear(?:ed|s)? resolved recover(?:ed|y) back_(?:below|to|at|in|up) again normal healthy complete_again resumed ok
    below_threshold all_good closed restored caught_up drained available_again serving accepting""")


def trouble(text: str, levels: Mapping[str, int], total: int) -> float:
    """How much a statement tells of trouble, in [0, 1]: by its level first, by its words where the level is silent."""
    high = (levels.get("error", 0) + levels.get("fatal", 0)) / max(1, total)
    warned = levels.get("warn", 0) / max(1, total)
    words = 0.6 if _TROUBLE.search(text) else 0.3 if _MILD.search(text) else 0.0
    if high or warned:
        return min(1.0, max(0.8 * high + 0.4 * warned + (0.2 if words == 0.6 else 0.0), words * 0.5))
    return words * (0.5 if levels.get("info") or levels.get("debug") else 1.0)


def is_change(text: str) -> bool:
    """Whether a statement says that somebody or something changed the system."""
    return bool(_CHANGE.search(text))


def is_begin(text: str) -> bool:
    """Whether a statement is what programs write when they start."""
    return bool(_BEGIN.search(text))


def is_mend(text: str) -> bool:
    """Whether a statement tells of putting things right."""
    return bool(_MEND.search(text))


def is_over(text: str) -> bool:
    """Whether a statement tells that something is well again."""
    return bool(_OVER.search(text))


def is_detection(text: str) -> bool:
    """Whether a statement tells that somebody noticed."""
    return bool(_DETECT.search(text))
