"""Signs of life: how a run knows where each agent works and that it still does.

A worker tells the journal which process it is when it begins. While a tool runs in a child, or a call waits for a free
place, somebody says so every `BEAT` seconds. A role of which nothing is heard for longer than its bound is ended by
the executor (`end_process`); its filling is closed by a record, so that what thaws later can write no end of its own.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any, Literal

from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory.owner import owner_alive, this_owner
from enlist.tools.runtime.memory.protocol import Memory, Owner

BEAT = 5.0  # seconds between two signs of life of something that has nothing else to say
GONE = 5.0  # seconds that a killed process gets to leave the process table

Condition = Literal["gone", "frozen", "running"]


def whereabouts() -> dict[str, Any]:
    """This process as JSON: an `Owner`, and under `node` Ray's id of the node, None outside Ray."""
    import ray

    node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else None
    return {"owner": this_owner().model_dump(), "node": node}


def filling_id(role: str, filling: int) -> str:
    """The id of the `decision` record that a filling of a role ends with: a draft, or who ended it and why. A record is
    written once, so whoever ends a filling first has ended it."""
    return f"{role}:{filling}"


class Pulse:
    """Says that a role lives, at most once in `BEAT` seconds; raises `stale_attempt` where a newer attempt drives."""

    def __init__(self, memory: Memory, run: str, attempt: int, role: str) -> None:
        self._memory, self._run, self._attempt, self._role = memory, run, attempt, role
        self._next = time.monotonic() + BEAT

    def beat(self, what: str) -> None:
        """`what` is what goes on, for those who read the journal."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + BEAT
            self._memory.commit(self._run, self._attempt, [
                NewEvent(kind="note", role=self._role, data={"alive": what})])


def end_process(document: dict[str, Any]) -> Condition:
    """Kill the process of an `Owner` on this machine if it is still that one; how it was found."""
    owner = Owner.model_validate(document)
    if owner_alive(owner) is not True:
        return "gone"
    try:
        state = Path(f"/proc/{owner.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        os.kill(owner.pid, signal.SIGKILL)  # acts on stopped processes too
    except OSError:
        return "gone"
    until = time.monotonic() + GONE
    while owner_alive(owner) and time.monotonic() < until:
        time.sleep(0.02)
    return "frozen" if state[0] in ("T", "t") else "running"
