"""The part of the conformance suite that needs several processes: writers at once, a writer that is killed.

`reopen(locator)` opens the store again in another process; a third party's store gives its own importable one.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

from enlist.tools.runtime.memory.conformance import LONG_S, MakeMemory, expect, expect_fault, finding, note
from enlist.tools.runtime.memory.opening import open_memory
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory

Reopen = Callable[[str], Memory]
_CONTEXT = multiprocessing.get_context("spawn")


def check_writing_processes_lose_nothing(make_memory: MakeMemory, reopen: Reopen = open_memory, processes: int = 4,
                                         commits: int = 300) -> None:
    """`processes` writers make `commits` commits each in one run: none is lost, the numbers have no gap."""
    memory = make_memory()
    writers = [_CONTEXT.Process(target=_write_some, args=(reopen, memory.locator(), f"w{number}", commits))
               for number in range(processes)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    expect([writer.exitcode for writer in writers] == [0] * processes, "every writer finished")
    events = memory.events("a")
    expect([event.seq for event in events] == list(range(1, processes * commits + 1)), "numbered without gaps")
    expect(len({(event.data["by"], event.data["n"]) for event in events}) == processes * commits, "none lost or twice")
    expect(len(memory.records("finding", "a")) == processes * commits, "as many records as events")


def check_a_killed_writer_loses_nothing_acknowledged(make_memory: MakeMemory, reopen: Reopen = open_memory,
                                                     acknowledged: int = 100) -> None:
    """kill -9 under load: what was acknowledged is there, whole, and the next owner can take the lease at once."""
    memory = make_memory()
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    writer = _CONTEXT.Process(target=_write_until_killed, args=(reopen, memory.locator(), theirs))
    writer.start()
    theirs.close()
    heard = [ours.recv() for _ in range(acknowledged)]
    expect_fault("lease_held", lambda: memory.take_lease("a", this_owner(), LONG_S))
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    while ours.poll():
        try:
            heard.append(ours.recv())
        except EOFError:
            break
    events = memory.events("a")
    expect([event.seq for event in events] == list(range(1, len(events) + 1)), "numbered without gaps")
    expect({event.seq for event in events} >= set(heard), "every acknowledged event is there")
    expect(len(events) - len(heard) <= 1, "at most the one commit in flight was not heard of")
    expect(len(memory.records("finding", "a")) == len(events), "each commit is whole")
    expect(memory.take_lease("a", this_owner(), LONG_S).attempt == 2, "a dead owner's lease is taken at once")
    expect_fault("stale_attempt", lambda: memory.commit("a", 1, [note()]))


def _write_some(reopen: Reopen, locator: str, name: str, commits: int) -> None:
    memory = reopen(locator)
    for number in range(commits):
        memory.commit("a", 0, [note(by=name, n=number)], [finding(f"{name}-{number}", f"claim {number} of {name}")])
    memory.close()


def _write_until_killed(reopen: Reopen, locator: str, ears: Connection) -> None:
    memory = reopen(locator)
    attempt, number = memory.take_lease("a", this_owner(), LONG_S).attempt, 0
    while True:
        number += 1
        ears.send(memory.commit("a", attempt, [note(n=number)], [finding(f"f{number}", "claim")])[0])


PROCESS_CHECKS: tuple[Callable[[MakeMemory], None], ...] = (
    check_writing_processes_lose_nothing, check_a_killed_writer_loses_nothing_acknowledged)
