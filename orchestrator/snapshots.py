"""Snapshots: a pinned state of the pool's track records, so that equal requests get equal teams.

Runs use the newest snapshot that somebody took, or the shipped state with no track records; what runs add afterwards is
not seen until the next snapshot. Runs teach reliability only: quality comes from scores of environments, which
campaigns leave as records of kind "track" (`quality_record`).
"""

from collections import Counter
from typing import Any

from enlist.agents.cards import Beta, Track
from enlist.agents.pool import Pool, reliability, shipped
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.memory.protocol import Memory, NewRecord, Record

SHIPPED = "shipped"
Tracks = dict[str, dict[str, Track]]


def take_snapshot(memory: Memory) -> str:
    """Pin what the store knows now about each agent's ended roles; the same knowledge has the same id."""
    good: Counter[tuple[str, str]] = Counter()
    bad: Counter[tuple[str, str]] = Counter()
    for run in memory.runs(limit=1_000_000):
        capability: dict[str, str] = {}
        for event in memory.events(run):
            if event.kind == "run.planned" and event.data["planning"]["plan"]:
                capability = {r["id"]: r["capability"] or "*" for r in event.data["planning"]["plan"]["roles"]}
            elif event.kind == "role.finished":
                good[event.data["agent"], capability[event.role or ""]] += 1
            elif event.kind == "role.failed" and not event.data.get("final") and _counts(event.data["error"]["code"]):
                bad[event.data["agent"], capability[event.role or ""]] += 1
    scores: dict[tuple[str, str], Beta] = {}
    once = {r.id: r for r in memory.records("track")}  # a sample counts once, in however many campaigns it is
    for record in once.values():
        agent, c, value = record.data["agent"], record.data["capability"], float(record.data["value"])
        known = scores.get((agent, c), Beta(good=0.0, bad=0.0))
        scores[agent, c] = Beta(good=known.good + value, bad=known.bad + 1 - value)
    tracks: dict[str, dict[str, Any]] = {}
    for agent, c in sorted(good.keys() | bad.keys() | scores.keys()):
        ended = (agent, c) in good or (agent, c) in bad
        tracks.setdefault(agent, {})[c] = Track(
            quality=scores.get((agent, c)),
            reliability=reliability(good[agent, c], bad[agent, c]) if ended else None).model_dump()
    id = "s" + content_hash(tracks)[:16]
    memory.commit("", 0, [], [NewRecord(kind="snapshot", id=id, data={"tracks": tracks})])
    return id


def quality_record(agent: str, capability: str, value: float, sample: str) -> NewRecord:
    """What an environment's score in [0, 1] tells of an agent; `sample` names where it comes from, once and for all."""
    data = {"agent": agent, "capability": capability, "value": value, "sample": sample}
    return NewRecord(kind="track", id=content_hash(data), data=data)


def pinned_pool(memory: Memory, snapshot: str | None, *, accept_changed: bool = False) -> tuple[Pool, str]:
    """The shipped pool with the track records of a snapshot, and the id that pins both.

    Args:
        snapshot: an id as `take_snapshot` or a run gave it; None for the newest, or the shipped state.

    Raises:
        EnlistError: `not_found` for an unknown snapshot, `version_mismatch` where the pool's agents are others now.
    """
    wanted, _, fingerprint = (snapshot or "").partition("-")
    found = [r for r in memory.records("snapshot") if wanted in ("", r.id)] if wanted != SHIPPED else []
    if wanted not in ("", SHIPPED) and not found:
        raise EnlistError("not_found", "no snapshot of this id is in this store", given=repr(snapshot),
                          allowed=", ".join(r.id for r in memory.records("snapshot")) or SHIPPED,
                          fix="take one with `enlist agents snapshot`, or leave --snapshot away")
    pool = shipped(_tracks(found[-1]) if found else {})
    id = f"{found[-1].id if found else SHIPPED}-{pool.fingerprint()[:12]}"
    if fingerprint and id != snapshot and not accept_changed:
        raise EnlistError("version_mismatch", "the pool has other agents than when this was pinned", given=snapshot,
                          allowed=id, fix="install the same plug-ins and versions, or go on with --accept-changed")
    return pool, id


def _counts(code: str) -> bool:
    """Whether a fault speaks against the agent: what the user's own code raised, and a stop, do not."""
    return code in ("timeout", "invalid_output", "internal", "resource_limit")


def _tracks(record: Record) -> Tracks:
    return {agent: {c: Track.model_validate(t) for c, t in by.items()} for agent, by in record.data["tracks"].items()}
