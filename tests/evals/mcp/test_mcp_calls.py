"""Calls side by side: no more at once than places, no more waiting than there is room for."""

import threading
from importlib.metadata import EntryPoint
from pathlib import Path

import anyio
import pytest

from enlist.evals.mcp import calls as module
from enlist.evals.mcp.calls import Calls
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.tool import Tool, ToolContext, ToolModel


class Nothing(ToolModel):
    """No field."""


GATE = threading.Event()
INSIDE: list[int] = []
RUNNING = threading.Semaphore(0)


def wait(given: Nothing, ctx: ToolContext) -> Nothing:
    INSIDE.append(1)
    RUNNING.release()
    assert GATE.wait(60)
    INSIDE.pop()
    return Nothing()


def test_two_run_three_wait_and_the_sixth_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool(name="wait", version="1", summary="wait", input=Nothing, output=Nothing, run="none:none", example={},
                check_route="none")
    monkeypatch.setattr(Tool, "function", lambda self: wait)
    monkeypatch.setattr(registry, "entries", lambda group: {"wait": EntryPoint("wait", "none:NONE", group)})
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    calls = Calls({"wait": tool}, memory, paths=False, at_once=2)
    ended = []

    async def one() -> None:
        await calls.call("wait", {})
        ended.append(1)

    async def many() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)
            for _ in range(2):
                await anyio.to_thread.run_sync(RUNNING.acquire)
            assert len(INSIDE) == 2
            with pytest.raises(EnlistError, match="too many calls"):
                await calls.call("wait", {})
            GATE.set()
        assert len(ended) == 5
        await calls.call("wait", {})  # there is room again

    anyio.run(many)
    calls.close()
    memory.close()
