"""Clearing a store: whole finished runs, then the artifacts that nothing mentions any more.

A run is finished where the last of its life events is `run.finished`: one that was interrupted may be resumed and is
kept, and so is every run with a live lease. Kept runs are not touched. Artifacts are deleted only when no remaining
event or record mentions their hash and nobody has put them lately: those of a run just deleted are left to a later
collection. Report folders lie outside the store and are not touched.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory

LIFE = frozenset({"run.accepted", "run.planned", "run.started", "attempt.opened", "run.interrupted", "run.finished"})
GRACE_S = 86_400.0
"""A day: longer than any run goes from putting an artifact to committing what refers to it."""
_ALL = 2**31 - 1


@dataclass(frozen=True)
class GarbageReport:
    """What was deleted, or in a dry run would be: runs, artifacts (SHA-256) and their bytes; how many runs stay."""

    dry_run: bool
    runs: tuple[str, ...]
    artifacts: tuple[str, ...]
    artifact_bytes: int
    runs_kept: int


def collect_garbage(memory: Memory, *, keep_runs: int | None = None, older_than_s: float | None = None,
                    dry_run: bool = True, grace_s: float = GRACE_S,
                    clock: Callable[[], float] = time.time) -> GarbageReport:
    """Delete finished runs and what only they needed.

    Args:
        keep_runs: keep this many of the newest runs, finished or not.
        older_than_s: only runs whose last event is older, in seconds. At least one of the two is given; both must hold.
        dry_run: only report.
        grace_s: artifacts put within so many seconds stay.

    Raises `bad_input` where neither rule is given or one is negative.
    """
    if keep_runs is None and older_than_s is None:
        raise EnlistError("bad_input", "what to keep is not said", allowed="a number of runs, an age, or both",
                          fix="give a number of runs to keep, or the age from which runs go")
    if (keep_runs or 0) < 0 or (older_than_s or 0) < 0 or grace_s < 0:
        raise EnlistError("bad_input", "a number of runs or an age below 0",
                          given=f"keep_runs={keep_runs}, older_than_s={older_than_s}, grace_s={grace_s}")
    runs = memory.runs(_ALL)
    doomed = [run for run in runs[keep_runs or 0:] if _is_over(memory, run, older_than_s, clock())]
    if not dry_run:
        doomed = [run for run in doomed if _forgotten(memory, run)]
    unused = memory.unused_artifacts(grace_s, forgotten=doomed)
    if not dry_run:
        freed = memory.forget_artifacts([sha256 for sha256, _ in unused], grace_s)
    else:
        freed = sum(size for _, size in unused)
    return GarbageReport(dry_run=dry_run, runs=tuple(doomed), artifacts=tuple(sha256 for sha256, _ in unused),
                         artifact_bytes=freed, runs_kept=len(runs) - len(doomed))


def _is_over(memory: Memory, run: str, older_than_s: float | None, now: float) -> bool:
    events = memory.events(run)
    life = [event.kind for event in events if event.kind in LIFE]
    lease = memory.lease(run)
    live = lease is not None and not lease.released and lease.expires > now
    old = older_than_s is None or (bool(events) and now - events[-1].time > older_than_s)
    return bool(life) and life[-1] == "run.finished" and not live and old


def _forgotten(memory: Memory, run: str) -> bool:
    """Delete a run, unless somebody took its lease just now."""
    try:
        memory.forget_run(run)
    except EnlistError as error:
        if error.code != "lease_held":
            raise
        return False
    return True
