"""Clearing a store: only whole finished runs go, and only artifacts that nothing mentions."""

import os
from pathlib import Path

import pytest

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory.conformance import finding
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.retention import collect_garbage
from enlist.tools.runtime.memory.sqlite import SqliteMemory

FINISHED = ("run.accepted", "run.started", "run.finished")


def make_run(memory: Memory, run: str, *kinds: str, content: bytes = b"") -> ArtifactRef:
    """A run with these events and one finding that refers to an artifact."""
    ref = memory.put_bytes(content or run.encode(), media_type="text/plain", name=run)
    memory.commit(run, 0, [NewEvent(kind=kind) for kind in kinds],  # type: ignore[arg-type]
                  [finding("f", "words", artifact=ref.model_dump())])
    return ref


def present(memory: Memory, ref: ArtifactRef) -> bool:
    try:
        memory.open_artifact(ref)
    except EnlistError:
        return False
    return True


def test_a_dry_run_deletes_nothing_and_foretells_what_the_real_one_does(memory: Memory) -> None:
    refs = [make_run(memory, run, *FINISHED) for run in ("r1", "r2", "r3")]
    foretold = collect_garbage(memory, keep_runs=1, grace_s=0)
    assert memory.runs() == ["r3", "r2", "r1"] and all(present(memory, ref) for ref in refs)
    done = collect_garbage(memory, keep_runs=1, grace_s=0, dry_run=False)
    assert foretold.dry_run and not done.dry_run
    assert (foretold.runs, foretold.artifacts, foretold.artifact_bytes, foretold.runs_kept) == (
        done.runs, done.artifacts, done.artifact_bytes, done.runs_kept)
    assert done.runs == ("r2", "r1") and done.artifact_bytes == len("r1") + len("r2")
    assert memory.runs() == ["r3"] and [present(memory, ref) for ref in refs] == [False, False, True]


def test_kept_runs_are_not_touched(memory: Memory) -> None:
    make_run(memory, "old", *FINISHED)
    make_run(memory, "new", *FINISHED)
    events, records = memory.events("new"), memory.records("finding", "new")
    collect_garbage(memory, keep_runs=1, grace_s=0, dry_run=False)
    assert (memory.events("new"), memory.records("finding", "new")) == (events, records)
    assert memory.events("old") == [] and [record.run for record in memory.search("words")] == ["new"]


@pytest.mark.parametrize("kinds", [
    ("run.accepted",), ("run.accepted", "run.started"), ("run.accepted", "run.interrupted"),
    ("run.accepted", "run.finished", "attempt.opened")])
def test_a_run_that_may_go_on_is_kept(memory: Memory, kinds: tuple[str, ...]) -> None:
    make_run(memory, "open", *kinds)
    assert collect_garbage(memory, keep_runs=0, grace_s=0, dry_run=False).runs == ()
    assert memory.runs() == ["open"]


def test_a_live_run_is_kept_until_its_lease_ends(memory: Memory) -> None:
    make_run(memory, "live", *FINISHED)
    memory.take_lease("live", this_owner(), 600)
    assert collect_garbage(memory, keep_runs=0, grace_s=0, dry_run=False).runs == ()
    memory.release_lease("live", 1)
    assert collect_garbage(memory, keep_runs=0, grace_s=0, dry_run=False).runs == ("live",)


def test_an_artifact_that_any_other_run_mentions_stays(memory: Memory) -> None:
    shared = make_run(memory, "old", *FINISHED, content=b"shared")
    make_run(memory, "new", *FINISHED, content=b"shared")
    assert collect_garbage(memory, keep_runs=1, grace_s=0, dry_run=False).artifacts == ()
    assert present(memory, shared)


def test_an_artifact_put_lately_stays_although_nothing_mentions_it_yet(memory: Memory) -> None:
    ref = memory.put_bytes(b"about to be used", media_type="text/plain", name="x")
    assert collect_garbage(memory, keep_runs=0, dry_run=False).artifacts == ()
    assert present(memory, ref)
    assert collect_garbage(memory, keep_runs=0, grace_s=0, dry_run=False).artifacts == (ref.sha256,)
    assert not present(memory, ref)


def test_putting_known_content_again_makes_it_young(memory: Memory) -> None:
    ref = memory.put_bytes(b"again", media_type="text/plain", name="x")
    os.utime(memory.open_artifact(ref), (0, 0))
    assert memory.unused_artifacts(3600) == [(ref.sha256, 5)]
    memory.put_bytes(b"again", media_type="text/plain", name="x")
    assert memory.unused_artifacts(3600) == []
    assert memory.forget_artifacts([ref.sha256], 3600) == 0 and present(memory, ref)


def test_age_counts_from_the_last_event(tmp_path: Path) -> None:
    now = [1000.0]
    memory = SqliteMemory(tmp_path / "store.db", clock=lambda: now[0])
    make_run(memory, "r", *FINISHED)
    for moment, gone in [(1100.0, ()), (1100.5, ("r",))]:
        now[0] = moment
        assert collect_garbage(memory, older_than_s=100, clock=lambda: now[0]).runs == gone


@pytest.mark.parametrize("rule", [{}, {"keep_runs": -1}, {"older_than_s": -1.0}])
def test_a_rule_must_be_given_and_make_sense(memory: Memory, rule: dict[str, int]) -> None:
    with pytest.raises(EnlistError) as caught:
        collect_garbage(memory, **rule)  # type: ignore[arg-type]
    assert caught.value.code == "bad_input"
