"""What people do by hand before they have a tool: grep for errors, look at the end, at the first, at what is rare.

Each names a service, guesses the class of cause from words near by, and cites lines. They set the floor: where one of
them finds the root cause in four of ten streams, the streams are too easy.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enlist.environments.contract import Solver, Submission, Task
from enlist.environments.incident_logs.answers import told
from enlist.environments.incident_logs.plain import Line, lines
from enlist.environments.incident_logs.streams import unpacked

CLUES: Mapping[str, tuple[str, ...]] = {
    "bad_deploy": ("version", "rollout", "build", "rolling", "release"),
    "bad_config": ("setting", "config", "revision"),
    "expired_certificate": ("certificate", "handshake", "tls", "ssl", "expired", "validity"),
    "lock_contention": ("waiting for", "deadlock", "lock", "holder", "session"),
    "disk_full": ("space", "volume", "extend", "disk", "bytes"),
    "memory_leak": ("heap", "memory", "collection", "oom", "137", "reclaim"),
    "name_resolution": ("lookup", "getaddrinfo", "servfail", "nxdomain", "resolve", "no address", "not known"),
    "dependency_outage": ("refused", "503", "breaker", "unavailable", "no route", "not ready", "endpoint"),
    "retry_storm": ("attempt", "retry", "resubmit", "again"),
    "thundering_herd": ("miss", "flushed", "hit rate", "at once", "parallel"),
    "clock_skew": ("clock", "skew", "ntp", "in the future"),
    "data_corruption": ("checksum", "corrupt", "mismatch", "bad block"),
    "quota_exceeded": ("quota", "limit", "429", "allowance"),
    "partial_network_failure": ("unreachable", "packet", "reset by", "link"),
    "crash_loop": ("restart", "exited", "backoff", "crash")}
ENOUGH = 15
"""Errors of new shapes from which on a baseline believes in an incident."""


@dataclass(frozen=True)
class Guess:
    """What a baseline found: the line it blames, the lines it looked at."""

    blamed: Line
    looked: Sequence[Line]


@dataclass(frozen=True)
class ByHand:
    """A baseline around a choice of lines."""

    name: str
    choose: Callable[[Sequence[Line]], Guess | None]

    def solve(self, task: Task) -> Submission:
        """Read the files, choose, and make an answer of it."""
        began = time.perf_counter()
        files = unpacked(task.payload)
        read, total = lines(files), sum(data.count(b"\n") for data in files.values())
        guess = self.choose(read)
        answer = {"incident": False, "accounting": {"lines_read": total}} if guess is None else _answer(guess, total)
        return Submission(task=task.id, answer=answer, cost={"seconds": time.perf_counter() - began})


@dataclass(frozen=True)
class Unread:
    """The trivial baseline: says that nothing happened, without a look."""

    name: str = "trivial"

    def solve(self, task: Task) -> Submission:
        """Always the same."""
        return Submission(task=task.id, answer={"incident": False, "accounting": {"lines_read": 0}})


def _answer(guess: Guess, total: int) -> dict[str, Any]:
    blamed, near = guess.blamed, [line for line in guess.looked if line.service == guess.blamed.service]
    firsts = {line.service: line for line in reversed(guess.looked)}
    order = sorted(firsts.values(), key=lambda line: line.at)
    kinds = {order[0].service: "first_symptom"} if order else {}
    return {
        "incident": True, "accounting": {"lines_read": total},
        "root_cause": {"component": blamed.service, "cause": classed([blamed, *near]), "trigger": blamed.text[:120],
                       "confidence": 0.6},
        "timeline": [{"time_utc": told(line.at * 1e9), "service": line.service, "claim": "first seen here",
                      "event": kinds.get(line.service, "propagation")} for line in order[:12]],
        "claims": [{"text": f"{line.service} reports trouble.", "lines": [{"file": line.file, "line": line.number}]}
                   for line in [blamed, *order[:12]]]}


def classed(found: Sequence[Line]) -> str:
    """The class whose words occur in most lines, the first line counting ten times."""
    scores = Counter[str]()
    for place, line in enumerate(found[:200]):
        text = line.text.lower()
        for cause, words in CLUES.items():
            scores[cause] += (10 if place == 0 else 1) * any(word in text for word in words)
    best = scores.most_common(1)
    return best[0][0] if best and best[0][1] else "unknown"


def fresh(read: Sequence[Line], level: int) -> list[Line]:
    """Lines of at least a level whose shape did not occur in the first quarter of the time."""
    if not read:
        return []
    quarter = read[0].at + (read[-1].at - read[0].at) / 4
    old = {line.shape for line in read if line.at < quarter}
    return [line for line in read if line.level >= level and line.at >= quarter and line.shape not in old]


def _last_errors(read: Sequence[Line]) -> Guess | None:
    errors = [line for line in read if line.level == 2][-50:]
    if not errors:
        return None
    most = Counter(line.service for line in errors).most_common(1)[0][0]
    return Guess(next(line for line in reversed(errors) if line.service == most), errors)


def _error_grep(read: Sequence[Line]) -> Guess | None:
    errors = [line for line in read if line.level == 2]
    if not errors:
        return None
    shape = Counter(line.shape for line in errors).most_common(1)[0][0]
    return Guess(next(line for line in errors if line.shape == shape), errors)


def _first_error(read: Sequence[Line]) -> Guess | None:
    new = fresh(read, 2)
    counts = Counter(line.shape for line in new)
    often = [line for line in new if counts[line.shape] >= 3] or new
    return Guess(often[0], often) if len(new) >= ENOUGH else None


def _loudest(read: Sequence[Line]) -> Guess | None:
    errors = [line for line in read if line.level == 2]
    if not errors:
        return None
    most = Counter(line.service for line in errors).most_common(1)[0][0]
    return Guess(next(line for line in errors if line.service == most), errors)


def _rare(read: Sequence[Line]) -> Guess | None:
    """Most of the error shapes that are new begin somewhere: of what is rare in the ten minutes before, the first
    warning, or else the last rare line."""
    new = fresh(read, 2)
    if len(new) < ENOUGH:
        return None
    onset, counts = new[0].at, Counter(line.shape for line in read)
    rare = [line for line in read if counts[line.shape] <= 2 and onset - 600 <= line.at <= onset + 30]
    warned = [line for line in rare if line.level]
    return Guess((warned or rare or new)[0 if warned else -1], [*rare, *new])


def _blamed(read: Sequence[Line]) -> Guess | None:
    """From the service with most new errors along the names in its errors, as far as they lead; then the first new line
    there that keeps coming."""
    new = fresh(read, 2)
    if len(new) < ENOUGH:
        return None
    names = sorted({line.service for line in read})
    here, seen = Counter(line.service for line in new).most_common(1)[0][0], set[str]()
    while here not in seen:
        seen.add(here)
        named = Counter(name for line in new if line.service == here for name in names
                        if name != here and name in line.text)
        if not named:
            break
        here = named.most_common(1)[0][0]
    own = [line for line in fresh(read, 0) if line.service == here]
    counts = Counter(line.shape for line in own)
    often = [line for line in own if counts[line.shape] >= 5] or own or new
    return Guess(often[0], [*often, *new])


BASELINES: Mapping[str, Solver] = {s.name: s for s in (
    Unread(), ByHand("classical", _blamed), ByHand("rare templates", _rare), ByHand("first error", _first_error),
    ByHand("last errors", _last_errors), ByHand("error grep", _error_grep), ByHand("loudest service", _loudest))}
