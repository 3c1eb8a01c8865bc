"""Words that say how something went, and words that only join others: the two closed lists that mining knows.

An outcome word never becomes a slot, so that "accepted" and "rejected" stay two templates. Both lists are plain
English of one word each, chosen as whole families and their opposites, not from any log.
"""

import re
from functools import lru_cache


def _family(words: str) -> frozenset[str]:
    return frozenset(words.split())


SUCCESS = _family("""
success successful successfully succeed succeeds succeeded ok okay passed accept accepted allow allowed grant
granted permit permitted complete completed finished done healthy valid up online available reachable connected
ready resolved recovered restored verified approved authorized authenticated alive normal good committed confirmed
""")

FAILURE = _family("""
fail fails failed failing failure failures unsuccessful error errors reject rejected deny denied refuse refused
forbid forbidden incomplete unhealthy invalid down offline unavailable unreachable disconnected unresolved lost
corrupt corrupted unauthorized unauthenticated dead abnormal bad abort aborted cancel canceled cancelled kill killed
crash crashed panic timeout expired exceeded overloaded unresponsive missing dropped unconfirmed degraded fatal
broken
""")

LIFE = _family("""
start starts started starting stop stops stopped stopping begin begins began beginning ended ending open opened
opening close closed closing create created creating destroy destroyed destroying delete deleted deleting add added
adding remove removed removing enable enabled enabling disable disabled disabling locked unlocked pause paused
resume resumed suspend suspended running idle busy pending queued scheduled unscheduled assigned unassigned
initialized uninitialized mounted unmounted loaded loading unloaded unloading attached detached acquire acquired
released entered entering exited exiting joined register registered unregister unregistered connect connecting
disconnect disconnecting login logout activate activated active deactivate deactivated inactive sent sending
received receiving before after terminated terminating launched shutdown restarted restarting promoted demoted
increased decreased increasing decreasing raised cleared
""")

METHODS = _family("get head post put delete connect options trace patch")
"""Of HTTP, RFC 9110 and 5789; protected where they are written in capitals."""

OUTCOME = SUCCESS | FAILURE | LIFE

JOINING = _family("""
a an the for from to of by on in at into onto with without via through over under as and or is was are were be been
has have had not no its it this that these those than then when while because if but which who
""")

NAMING = _family("""
account application bucket channel class client cluster component container database device directory disk domain
driver event file filter function group handler host id image index instance interface job key library lock machine
member message method mode module name node object option package partition peer plugin pod policy pool port process
profile program project property queue region repository resource role rule schema script server service session
shard slot socket state status storage stream subject table tag target task tenant thread topic transaction type
user username version volume worker zone
""")
"""Nouns that stand before a name."""

BEFORE_NAMES = _family("for from of by on in at into onto via") | NAMING
"""What is followed by a name more often than by a word of the statement; not `to`, which verbs follow."""

NO_WORDS = _family("true false null none nil nan undefined")
"""Values of programs, written as words."""

CALENDAR = _family("""
Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Monday Tuesday Wednesday Thursday Friday
Saturday Sunday January February March April June July August September October November December
""")

_JOINED = re.compile(r"[A-Za-z_]+$")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=1 << 16)
def outcome_in(token: str) -> bool:
    """Whether a token is an outcome word, or a name put together with one (`FAIL_CLEANUP`, `onConnectFailed`)."""
    lower = token.lower()
    if lower in OUTCOME or (token.isupper() and lower in METHODS):
        return True
    if lower.isalpha() and (lower == token or token.istitle()):
        return False
    if not _JOINED.match(token):
        return False
    return any(part.lower() in OUTCOME for part in _PARTS.findall(token))
