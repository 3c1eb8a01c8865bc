"""LangGraph checkpoints in a store: a cache of a graph's state that may be thrown away at any time.

The journal is the truth about a run; a checkpoint only saves doing a graph's steps again. Checkpoints are records of
kind `checkpoint` whose role is the graph's thread, written under the run's attempt, so that a graph of an older attempt
is refused. Each put is a record of its own; where one thing was put twice, LangGraph's rule says which counts.
"""

import asyncio
import base64
import random
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from enlist.tools.runtime.memory.protocol import Memory, NewRecord


@dataclass
class _Stored:
    """One checkpoint as read back: its record's data, and its writes (path, channel, value) by (task, index)."""

    data: dict[str, Any]
    writes: dict[tuple[str, int], tuple[str, str, Any]] = field(default_factory=dict)


class MemorySaver(BaseCheckpointSaver[str]):
    """A checkpointer for the graphs of one attempt of a run.

    `serde` defaults to msgpack that makes no objects but plain data and LangChain messages: what is read from a store
    must not be able to run code. Faults are those of `Memory.commit`.
    """

    def __init__(self, memory: Memory, run: str, attempt: int, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._memory, self._run, self._attempt = memory, run, attempt

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
            new_versions: ChannelVersions) -> RunnableConfig:
        """Keep a checkpoint, whole: channels that did not change are written again."""
        thread, space, parent = _place(config)
        about = get_checkpoint_metadata(config, metadata)
        self._keep(thread, [{
            "what": "checkpoint", "space": space, "id": checkpoint["id"], "parent": parent,
            "checkpoint": self._packed(checkpoint), "metadata": self._packed(about)}])
        return _config(thread, space, checkpoint["id"])

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str,
                   task_path: str = "") -> None:
        """Keep what a task wrote; writes to channels of LangGraph's own (errors, interrupts) replace earlier ones."""
        thread, space, id = _place(config)
        self._keep(thread, [{
            "what": "write", "space": space, "id": id, "task": task_id, "path": task_path, "channel": channel,
            "index": WRITES_IDX_MAP.get(channel, number), "value": self._packed(value)}
            for number, (channel, value) in enumerate(writes)])

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, else the newest of its thread."""
        thread, space, id = _place(config)
        stored = self._stored(thread, space)
        id = id or max(stored, default=None)
        return self._tuple(thread, space, id, stored[id]) if id in stored else None

    def list(self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None,
             before: RunnableConfig | None = None, limit: int | None = None) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first."""
        only, until = (get_checkpoint_id(config) if config else None), (get_checkpoint_id(before) if before else None)
        found = 0
        for thread, space in self._places(config):
            stored = self._stored(thread, space)
            for id in sorted(stored, reverse=True):
                if (only and id != only) or (until and id >= until):
                    continue
                item = self._tuple(thread, space, id, stored[id])
                if any(item.metadata.get(key) != value for key, value in (filter or {}).items()):
                    continue
                if limit is not None and found >= limit:
                    return
                found += 1
                yield item

    def delete_thread(self, thread_id: str) -> None:
        """Throw a thread's checkpoints away."""
        self._memory.forget_checkpoints(self._run, str(thread_id))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Versions that sort as strings and differ between forks, as those of LangGraph's SqliteSaver."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None,
                    before: RunnableConfig | None = None, limit: int | None = None) -> AsyncIterator[CheckpointTuple]:
        for item in await asyncio.to_thread(
                lambda: [*self.list(config, filter=filter, before=before, limit=limit)]):
            yield item

    async def aput(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
                   new_versions: ChannelVersions) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str,
                          task_path: str = "") -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    def _keep(self, thread: str, parts: Sequence[dict[str, Any]]) -> None:
        self._memory.commit(self._run, self._attempt, [], [
            NewRecord(kind="checkpoint", id=uuid.uuid4().hex, role=thread, data=part) for part in parts])

    def _stored(self, thread: str, space: str) -> dict[str, _Stored]:
        """The checkpoints of a thread and namespace by id."""
        found: dict[str, _Stored] = {}
        writes: list[dict[str, Any]] = []
        for record in self._memory.records("checkpoint", self._run, [thread]):
            data = record.data
            if data["space"] == space:
                if data["what"] == "checkpoint":
                    found[data["id"]] = _Stored(data)
                else:
                    writes.append(data)
        for data in writes:
            if data["id"] in found:
                place, kept = (data["task"], data["index"]), found[data["id"]].writes
                if data["index"] < 0 or place not in kept:
                    kept[place] = (data["path"], data["channel"], data["value"])
        return found

    def _places(self, config: RunnableConfig | None) -> Sequence[tuple[str, str]]:
        """Thread and namespace of every checkpoint that `config` admits."""
        configurable = config["configurable"] if config else {}
        threads = [str(configurable["thread_id"])] if configurable else None
        places = dict.fromkeys((record.role or "", record.data["space"])
                               for record in self._memory.records("checkpoint", self._run, threads))
        space = configurable.get("checkpoint_ns")
        return [place for place in places if space is None or place[1] == space]

    def _tuple(self, thread: str, space: str, id: str, stored: _Stored) -> CheckpointTuple:
        parent = stored.data["parent"]
        writes = sorted((writes_sort_key(path, task, index), channel, value)
                        for (task, index), (path, channel, value) in stored.writes.items())
        return CheckpointTuple(
            config=_config(thread, space, id), checkpoint=self._unpacked(stored.data["checkpoint"]),
            metadata=self._unpacked(stored.data["metadata"]),
            parent_config=_config(thread, space, parent) if parent else None,
            pending_writes=[(key[1], channel, self._unpacked(value)) for key, channel, value in writes])

    def _packed(self, value: Any) -> Sequence[str]:
        form, data = self.serde.dumps_typed(value)
        return [form, base64.b64encode(data).decode("ascii")]

    def _unpacked(self, packed: Sequence[str]) -> Any:
        return self.serde.loads_typed((packed[0], base64.b64decode(packed[1])))


def _place(config: RunnableConfig) -> tuple[str, str, str | None]:
    configurable = config["configurable"]
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns", ""), get_checkpoint_id(config)


def _config(thread: str, space: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": id}}
