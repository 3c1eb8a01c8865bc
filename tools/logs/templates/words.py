"""Words that say how something went, and words that only join others: the two closed lists that mining knows.

An outcome word never becomes a slot, so that "accepted" and "rejected" stay two templates. Both lists are plain
English of one word each, chosen as whole families and their opposites, not from any log.
"""

import re


def _family(words: str) -> frozenset[str]:
    return frozenset(words.split())


SUCCESS = _family("""
success successful successfully succeed succeeds succeeded ok okay pass passed accept accepted allow allowed grant
granted permit permitted complete completed finished done healthy valid up online available reachable connected ready
resolved recovered restored verified approved authorized authenticated alive normal good committed
confirmed
""")

FAILURE = _family("""
fail fails failed failing failure failures unsuccessful error errors reject rejected deny denied refuse refused forbid
forbidden incomplete unhealthy invalid down offline unavailable unreachable disconnected unresolved lost corrupt
corrupted unauthorized unauthenticated dead abnormal bad abort aborted cancel canceled cancelled kill killed crash
crashed panic timeout expired exceeded overloaded unresponsive missing dropped unconfirmed degraded fatal
broken
""")

LIFE = _family("""
start starts started starting stop stops stopped stopping begin begins began beginning end ends ended ending open
opened opening close closed closing create created creating destroy destroyed destroying delete deleted deleting add
added adding remove removed removing enable enabled enabling disable disabled disabling lock locked unlock unlocked
pause paused resume resumed suspend suspended running idle busy pending queued scheduled unscheduled assigned
unassigned initialized uninitialized mount mounted unmount unmounted load loaded loading unload unloaded unloading
attach attached detach detached acquire acquired release released enter entered entering exit exited exiting leave
left join joined register registered unregister unregistered connect connecting disconnect disconnecting login logout
activate activated active deactivate deactivated inactive sent sending received receiving before after terminated
terminating launched shutdown restarted restarting promoted demoted increased decreased increasing decreasing raised
cleared
""")

METHODS = _family("get head post put delete connect options trace patch")
"""Of HTTP, RFC 9110 and 5789; protected where they are written in capitals."""

OUTCOME = SUCCESS | FAILURE | LIFE

JOINING = _family("""
a an the for from to of by on in at into onto with without via through over under as and or is was are were be been
has have had not no its it this that these those than then when while because if but which who
""")

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def outcome_in(token: str) -> bool:
    """Whether a token is an outcome word, or a name put together with one (`FAIL_CLEANUP`, `onConnectFailed`)."""
    lower = token.lower()
    if lower in OUTCOME or (token.isupper() and lower in METHODS):
        return True
    if lower.isalpha() and (lower == token or token.istitle()):
        return False
    return any(part.lower() in OUTCOME for part in _PARTS.findall(token))
