"""What every store must hold: a suite that any backend, a third party's too, can be put through.

    from enlist.tools.runtime.memory.conformance import CHECKS
    for check in CHECKS:
        check(make_memory)

`make_memory()` gives a new, empty store each time. A check that fails raises AssertionError and says what was broken.
Checks with several processes are in `conformance_processes`.
"""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory, NewRecord, Settlement

MakeMemory = Callable[[], Memory]
LONG_S = 600.0


def expect(condition: bool, what: str) -> None:
    """Raise AssertionError with `what`, under `python -O` too."""
    if not condition:
        raise AssertionError(what)


def expect_fault(code: str, act: Callable[[], object]) -> EnlistError:
    """Run `act`, which must raise an EnlistError with this code; returns it."""
    try:
        act()
    except EnlistError as error:
        expect(error.code == code, f"expected {code}, got {error.code}: {error}")
        return error
    raise AssertionError(f"expected {code}, nothing was raised")


def note(key: str | None = None, **data: object) -> NewEvent:
    """An event to append."""
    return NewEvent(kind="note", key=key, data=data)


def finding(id: str, text: str = "", role: str | None = None, **data: object) -> NewRecord:
    """A record to insert."""
    return NewRecord(kind="finding", id=id, role=role, data=data, text=text)


def check_events_are_numbered_without_gaps(make_memory: MakeMemory) -> None:
    memory = make_memory()
    expect(memory.commit("a", 0, [note(n=0), note(n=1)]) == [1, 2], "the first events of a run are 1 and 2")
    expect(memory.commit("b", 0, [note(n=9)]) == [1], "each run counts for itself")
    expect(memory.commit("a", 0, [note(n=2)]) == [3], "the count goes on")
    events = memory.events("a")
    expect([event.seq for event in events] == [1, 2, 3], "events come in order, without gaps")
    expect([event.data["n"] for event in events] == [0, 1, 2], "each event keeps its data")
    expect([event.seq for event in memory.events("a", after=1, limit=1)] == [2], "`after` and `limit` select")
    expect(memory.runs() == ["b", "a"] and memory.runs(limit=1) == ["b"], "runs come newest first")


def check_an_event_key_is_unique(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.commit("a", 0, [note("k", n=1)])
    again = memory.commit("a", 0, [note("k", n=2), note("other")], [finding("f")])
    expect(again == [1, 2], "the earlier seq is returned and the rest of the commit applies")
    found = memory.find_event("a", "note", "k")
    expect(found is not None and found.data == {"n": 1}, "the first event stays")
    expect(memory.find_event("b", "note", "k") is None, "a key belongs to its run")
    expect(memory.record("finding", "a", "f") is not None, "the record beside the known event was written")
    stop = NewEvent(kind="stop.requested", key="k")
    expect(memory.commit("a", 0, [stop]) == [3], "a key belongs to its kind")


def check_records_are_inserted_if_absent(make_memory: MakeMemory) -> None:
    memory = make_memory()
    data = {"b": [1, 2.5, None, True], "a": {"text": "é光\x00\ud800"}}
    first = NewRecord(kind="finding", id="f", role="analyst", data=data, text="one", supersedes="e")
    memory.commit("a", 0, [], [first])
    memory.commit("a", 0, [], [first])
    expect(len(memory.records("finding", "a")) == 1, "the same record again changes nothing")
    expect_fault("conflict", lambda: memory.commit("a", 0, [], [finding("f", other=1)]))
    kept = memory.record("finding", "a", "f")
    expect(kept is not None and kept.data == data, "data comes back as it was given")
    expect(kept is not None and (kept.role, kept.supersedes, kept.text) == ("analyst", "e", "one"), "fields are kept")
    memory.commit("b", 0, [], [finding("f", other=1)])
    memory.commit("", 0, [], [finding("f", free=1)])
    expect(len(memory.records("finding")) == 3, "an id is unique within its kind and run")
    expect(memory.record("decision", "a", "f") is None, "another kind is another record")


def check_records_select_by_role_in_order(make_memory: MakeMemory) -> None:
    memory = make_memory()
    for number, role in enumerate(["x", "y", "x", None]):
        memory.commit("a", 0, [], [finding(f"f{9 - number}", role=role)])
    expect([r.id for r in memory.records("finding", "a")] == ["f9", "f8", "f7", "f6"], "in order of insertion")
    expect([r.id for r in memory.records("finding", "a", ["x"])] == ["f9", "f7"], "only of the roles asked for")
    expect(memory.records("finding", "a", []) == [], "no role, no record")


def check_a_commit_is_whole_or_nothing(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.commit("a", 0, [], [finding("f", n=1)])
    memory.set_budget("a", "tokens", 10)
    memory.reserve("a", 0, "tokens", "call", 5)
    expect_fault("conflict", lambda: memory.commit("a", 0, [note("new")], [finding("g"), finding("f", n=2)],
                                                   [Settlement(kind="tokens", key="call", amount=4)]))
    expect(memory.events("a") == [], "a conflict takes the events back")
    expect(memory.record("finding", "a", "g") is None, "and the other records")
    expect(memory.budget("a", "tokens").reserved == 5, "and the settlement")
    expect(memory.commit("a", 0, [note()]) == [1], "and leaves no gap")
    expect_fault("bad_input", lambda: memory.commit("a", 0, [note(x=float("nan"))]))
    expect_fault("bad_input", lambda: memory.commit("", 0, [note()]))


def check_a_stale_attempt_is_refused(make_memory: MakeMemory) -> None:
    memory, owner = make_memory(), this_owner()
    memory.commit("a", 0, [note()])
    expect_fault("stale_attempt", lambda: memory.commit("a", 1, [note()]))
    expect(memory.take_lease("a", owner, LONG_S).attempt == 1, "the first attempt is 1")
    expect_fault("stale_attempt", lambda: memory.commit("a", 0, [note()]))
    memory.commit("a", 1, [note()])
    memory.release_lease("a", 1)
    memory.commit("a", 1, [note()])
    expect(memory.take_lease("a", owner, LONG_S).attempt == 2, "attempts count up")
    for act in (lambda: memory.commit("a", 1, [note()]), lambda: memory.commit("a", 1, [], [finding("f")]),
                lambda: memory.reserve("a", 1, "usd", "k", 1), lambda: memory.renew_lease("a", 1, LONG_S)):
        expect_fault("stale_attempt", act)
    memory.release_lease("a", 1)
    held = memory.lease("a")
    expect(held is not None and not held.released and held.attempt == 2, "an old attempt cannot give the lease back")
    expect([event.attempt for event in memory.events("a")] == [0, 1, 1], "events carry their attempt")


def check_a_lease_is_held_until_it_ends(make_memory: MakeMemory) -> None:
    memory, owner = make_memory(), this_owner()
    first = memory.take_lease("a", owner, LONG_S)
    fault = expect_fault("lease_held", lambda: memory.take_lease("a", owner, LONG_S))
    expect(str(owner.pid) in fault.sentence() and owner.host in fault.sentence(), "the fault names the owner")
    expect(memory.renew_lease("a", 1, 2 * LONG_S).expires > first.expires, "renewing prolongs")
    memory.release_lease("a", 1)
    expect_fault("stale_attempt", lambda: memory.renew_lease("a", 1, LONG_S))
    expect(memory.take_lease("a", owner, 1e-6).attempt == 2, "a released lease can be taken")
    expect(memory.take_lease("a", owner, LONG_S).attempt == 3, "an expired lease can be taken")
    expect(memory.lease("b") is None, "a run without a lease has none")
    for ttl in (0.0, -1.0, float("nan")):
        expect_fault("bad_input", partial(memory.take_lease, "c", owner, ttl))


def check_a_lease_of_another_host_is_not_judged(make_memory: MakeMemory) -> None:
    memory, owner = make_memory(), this_owner()
    elsewhere = owner.model_copy(update={"host": "another-host", "pid": 1, "started": 0.0})
    memory.take_lease("a", elsewhere, LONG_S)
    expect_fault("lease_held", lambda: memory.take_lease("a", owner, LONG_S))
    reused = owner.model_copy(update={"started": owner.started + 1})
    memory.take_lease("b", reused, LONG_S)
    expect(memory.take_lease("b", owner, LONG_S).attempt == 2, "a reused process id is not the owner")


def check_budgets_reserve_and_settle(make_memory: MakeMemory) -> None:
    memory = make_memory()
    expect(memory.budget("a", "usd").limit is None, "no limit was set")
    memory.set_budget("a", "usd", 1.0)
    memory.set_budget("a", "usd", 1.0)
    expect_fault("conflict", lambda: memory.set_budget("a", "usd", 2.0))
    for number in range(10):
        memory.reserve("a", 0, "usd", f"k{number}", 0.1)
    fault = expect_fault("budget_exhausted", lambda: memory.reserve("a", 0, "usd", "more", 0.01))
    expect("free" in fault.sentence(), "the fault says what is free")
    memory.reserve("a", 0, "usd", "k3", 0.5)
    memory.commit("a", 0, [], settle=[Settlement(kind="usd", key="k3", amount=0.0)])
    memory.commit("a", 0, [], settle=[Settlement(kind="usd", key="k3", amount=0.0)])
    memory.reserve("a", 0, "usd", "more", 0.1)
    expect_fault("conflict", lambda: memory.commit("a", 0, [], settle=[Settlement(kind="usd", key="k3", amount=1.0)]))
    memory.commit("a", 0, [], settle=[Settlement(kind="usd", key="more", amount=0.3)])
    state = memory.budget("a", "usd")
    expect(abs(state.reserved - 0.9) < 1e-12 and abs(state.spent - 0.3) < 1e-12, f"sums are right: {state}")
    expect_fault("budget_exhausted", lambda: memory.reserve("a", 0, "usd", "last", 1e-3))
    memory.reserve("a", 0, "tokens", "unlimited", 1e9)
    for amount in (-1.0, float("nan"), float("inf")):
        expect_fault("bad_input", partial(memory.reserve, "a", 0, "usd", "odd", amount))


def check_parallel_reservations_never_overspend(make_memory: MakeMemory) -> None:
    memory, granted, faults = make_memory(), [], []
    memory.set_budget("a", "tokens", 100)

    def caller(name: int) -> None:
        for number in range(10):
            try:
                memory.reserve("a", 0, "tokens", f"{name}-{number}", 7)
                granted.append(7)
            except EnlistError as error:
                faults.append(error.code)

    threads = [threading.Thread(target=caller, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(len(granted) == 14, f"14 reservations of 7 fit into 100, {len(granted)} were granted")
    expect(faults == ["budget_exhausted"] * 26, "all others were refused for the budget")
    expect(memory.budget("a", "tokens").reserved == 98, "the store says the same")


def check_search_reads_any_script(make_memory: MakeMemory) -> None:
    memory = make_memory()
    texts = {"en": "The speed of light is 299792458 m/s in vacuum", "zh": "真空中的光速是每秒299792458米",
             "ja": "東京タワーの高さ", "th": "ความเร็วแสง", "fr": "résumé naïve d'une œuvre", "ru": "Скорость света",
             "code": "tools/solar: kernel_size=3 (a.b.c) \"quoted\" 50% AND", "often": "light light light light"}
    memory.commit("a", 0, [], [finding(id, text) for id, text in texts.items()])
    memory.commit("b", 0, [], [NewRecord(kind="decision", id="d", data={}, text="speed of light again")])
    for query, wanted in [("光速", "zh"), ("光", "zh"), ("タワー", "ja"), ("แสง", "th"), ("RESUME", "fr"),
                          ("света скорость", "ru"), ("kernel_size=3", "code"), ('"quoted', "code"), ("a.b.c", "code"),
                          ("50% AND", "code"), ("(light) vacuum'", "en")]:
        expect([r.id for r in memory.search(query, run="a")] == [wanted], f"{query!r} finds {wanted}")
    for query in ["", "  ", "!!!", '"', "速光", "light -- nothing", "NEAR(", "*", "a" * 5000, "\x00", "col:x OR"]:
        expect(memory.search(query) == [], f"{query[:20]!r} finds nothing and raises nothing")
    expect({r.id for r in memory.search("speed light")} == {"en", "d"}, "words are ANDed, over all runs")
    expect([r.id for r in memory.search("light", kind="decision")] == ["d"], "a kind selects")
    expect(memory.search("light", run="a")[0].id == "often", "the best comes first")
    expect(len(memory.search("light", limit=1)) == 1, "limit holds")


def check_artifacts_are_kept_by_content(make_memory: MakeMemory) -> None:
    memory = make_memory()
    first = memory.put_bytes(b"content", media_type="text/plain", name="a.txt")
    second = memory.put_bytes(b"content", media_type="text/plain", name="b.txt")
    path = memory.open_artifact(first)
    expect(first.sha256 == second.sha256 and path == memory.open_artifact(second), "equal content is kept once")
    expect(path.read_bytes() == b"content" and first.bytes == 7, "the bytes come back")
    third = memory.put_file(path, media_type="text/plain", name="c.txt")
    expect(third.sha256 == first.sha256, "a file with the same content is the same artifact")
    path.chmod(0o644)
    path.write_bytes(b"altered")
    try:  # a local copy may be fetched anew
        unaltered = memory.open_artifact(first).read_bytes() == b"content"
    except EnlistError as error:
        unaltered = error.code == "conflict"
    expect(unaltered, "altered bytes are never handed out")
    absent = first.model_copy(update={"sha256": "0" * 64})
    expect_fault("not_found", lambda: memory.open_artifact(absent))
    expect_fault("not_found", lambda: memory.put_file(Path("/nonexistent/file"), media_type="a/b", name="x"))


def check_a_run_can_be_forgotten(make_memory: MakeMemory) -> None:
    memory, owner = make_memory(), this_owner()
    for run in ("a", "b"):
        memory.commit(run, 0, [note("k")], [finding("f", "shared words")])
    memory.take_lease("a", owner, LONG_S)
    expect_fault("lease_held", lambda: memory.forget_run("a"))
    cached = [NewRecord(kind="checkpoint", id=role, role=role, data={}) for role in ("x", "y")]
    memory.commit("a", 1, [], cached)
    expect(memory.forget_checkpoints("a", "x") == 1 and memory.forget_checkpoints("a") == 1, "checkpoints go by role")
    expect(len(memory.records("finding", "a")) == 1, "other records stay")
    memory.release_lease("a", 1)
    memory.forget_run("a")
    expect(memory.events("a") == [] and memory.runs() == ["b"], "nothing of the run is left")
    expect([r.run for r in memory.search("shared words")] == ["b"], "nor in the index; the other run is whole")


CHECKS: tuple[Callable[[MakeMemory], None], ...] = (
    check_events_are_numbered_without_gaps, check_an_event_key_is_unique, check_records_are_inserted_if_absent,
    check_records_select_by_role_in_order, check_a_commit_is_whole_or_nothing, check_a_stale_attempt_is_refused,
    check_a_lease_is_held_until_it_ends, check_a_lease_of_another_host_is_not_judged,
    check_budgets_reserve_and_settle, check_parallel_reservations_never_overspend, check_search_reads_any_script,
    check_artifacts_are_kept_by_content, check_a_run_can_be_forgotten)
