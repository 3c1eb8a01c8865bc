"""Calls of tools on behalf of clients: a few at once, each killable, each with the limits of `enlist tool`.

A call runs on a thread of a small pool, where `run_tool` watches the tool's process tree. When the client cancels, is
lost, or the server ends, the call's `stop` is set and the tree is killed. What waits for a place is bounded too.
"""

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from enlist.evals.cli.paths import admit
from enlist.evals.mcp.intake import take_files
from enlist.tools.runtime import registry
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.naming import nearest
from enlist.tools.runtime.runner import Ran, artifacts_in, run_tool
from enlist.tools.runtime.tool import Tool

AT_ONCE = max(1, (os.cpu_count() or 1) // 2)  # a tool may use several cores
MOST_WAITING = 32  # calls without a place; the next one is refused
MOST_KNOWN = 10_000  # files that the server remembers to have taken or given


@dataclass(frozen=True)
class Done:
    """The end of a call: the output as JSON, how it ran, and the files that it made."""

    output: dict[str, Any]
    ran: Ran
    files: tuple[ArtifactRef, ...]


class Calls:
    """The tools `tools` by name, called on `memory`.

    Args:
        paths: whether a client may name files of this machine, and any artifact of the store by its hash. Otherwise it
            may name only files that this server took or gave.
        at_once: calls that run at the same time.
    """

    def __init__(self, tools: Mapping[str, Tool], memory: Memory, *, paths: bool, at_once: int = AT_ONCE) -> None:
        self.tools, self.memory, self.paths = tools, memory, paths
        self.ended = threading.Event()
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="enlist-mcp")
        self._most = at_once + MOST_WAITING
        self._under_way = 0
        self._known: OrderedDict[str, ArtifactRef] = OrderedDict()
        self._lock = threading.Lock()

    async def call(self, name: str, arguments: Mapping[str, Any], lost: Callable[[], bool] = lambda: False) -> Done:
        """Call a tool to its end; when this is cancelled, or `lost` says that the client has gone, the tool is killed.

        Raises:
            EnlistError: what `run_tool` raises, `not_found` for a tool that is not served, and `resource_limit` where
                too many calls wait.
        """
        if name not in self.tools:
            raise EnlistError("not_found", "no tool of this name is served here", given=repr(name[:100]),
                              allowed=", ".join(nearest(name, self.tools) or list(self.tools)), fix="list the tools")
        if self._under_way >= self._most:
            raise EnlistError("resource_limit", "too many calls wait for a place", given=f"{self._under_way} calls",
                              allowed=f"{self._most} calls", fix="call again when others have ended")
        stop = threading.Event()

        def cancelled() -> bool:
            return stop.is_set() or self.ended.is_set() or lost()

        self._under_way += 1  # on the event loop's thread alone
        loop = asyncio.get_running_loop()
        future = self._pool.submit(self._run, name, dict(arguments), cancelled)
        future.add_done_callback(lambda _: None if loop.is_closed() else loop.call_soon_threadsafe(self._leave))
        try:
            return await asyncio.wrap_future(future)
        finally:
            stop.set()

    def _leave(self) -> None:
        self._under_way -= 1

    def _run(self, name: str, arguments: dict[str, Any], cancelled: Callable[[], bool]) -> Done:
        tool = self.tools[name]
        with boundary(f"tool {tool.name}"):
            if cancelled():
                raise EnlistError("cancelled", f"tool {tool.name} was stopped before it began")
            kept: set[str] = set()
            data = take_files(arguments, self.memory, kept)
            given = tool.parse(admit(tool.input, data, self.memory) if self.paths else data)
            taken = list(artifacts_in(given))
            self._check_known(taken, kept)
            ran = run_tool(tool, registry.entries("enlist.tools")[name].value, given, self.memory, cancelled=cancelled)
            before = {ref.sha256 for ref in taken}
            files = tuple(ref for ref in artifacts_in(ran.output) if ref.sha256 not in before)
            self._remember([*taken, *files])
            return Done(ran.output.model_dump(mode="json"), ran, files)

    def _check_known(self, taken: list[ArtifactRef], kept: set[str]) -> None:
        """Refuse a file that a client without the right to paths names by its hash and never sent or got."""
        for ref in taken:
            if not self.paths and ref.sha256 not in kept and self.known(ref.sha256) is None:
                raise EnlistError("not_found", "this server neither took nor gave a file of this hash",
                                  given=ref.sha256, allowed="a file that an earlier call gave back",
                                  fix="send its content with file_text or file_base64")

    def known(self, sha256: str) -> ArtifactRef | None:
        """A file that the server took or gave."""
        with self._lock:
            return self._known.get(sha256)

    def _remember(self, refs: list[ArtifactRef]) -> None:
        with self._lock:
            for ref in refs:
                self._known[ref.sha256] = ref
                self._known.move_to_end(ref.sha256)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)

    def close(self) -> None:
        """Kill what runs, and wait until it has ended."""
        self.ended.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

