"""Memory of one SQLite file for all nodes of a cluster, served by one actor on the node that holds the file.

The actor is named after the file, so every process finds the same one, and it is made again where it died: a call that
may have been carried out before the answer was lost has a token, and its repeat gives the first answer. Artifacts
travel in blocks and are cached in a folder of the other node. One actor serves a few nodes; for many, use Postgres.
"""

import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from enlist.tools.runtime.artifacts import ArtifactFolder, ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.ids import bytes_hash, file_hash
from enlist.tools.runtime.memory.artifact_cache import artifact_cache
from enlist.tools.runtime.memory.owner import owner_alive
from enlist.tools.runtime.memory.protocol import (
    BudgetKind,
    BudgetState,
    Lease,
    NewRecord,
    Owner,
    Record,
    Settlement,
)
from enlist.tools.runtime.memory.sqlite import SqliteMemory
from enlist.tools.runtime.memory.store_keeper import StoreKeeper

NAMESPACE = "enlist"
ANSWER_S = 60.0
"""How long a call waits for the actor, its restart included, before the node counts as lost."""
BLOCK_BYTES = 4 << 20

_SERVED: dict[str, "ActorMemory"] = {}
"""What this process serves: Ray ends an actor when its maker's handle is gone, and it must live as long as the run."""


def serve(memory: SqliteMemory) -> str:
    """Start the actor for a store of this node; returns the locator for workers. Raises what `ActorMemory` raises."""
    served = ActorMemory(memory.path, memory.artifacts)
    served.runs(limit=1)  # a store that cannot be served is found out now
    _SERVED[served.locator()] = served
    return served.locator()


class ActorMemory:
    """A `Memory` whose calls go to the actor that owns the store; needs a Ray that is connected.

    Args:
        path: the SQLite file, on the node `node`.
        artifacts: its folder of artifacts, there; None: `artifacts` beside the file.
        node: Ray's id of the node that holds the file; None: the caller's.
        cache: a local folder for artifacts that were fetched; None: one of this user's in the temporary folder.

    Raises what the store raises, and `worker_died` where the node that holds it does not answer for `ANSWER_S`.
    """

    def __init__(self, path: Path, artifacts: Path | None = None, *, node: str | None = None,
                 cache: Path | None = None) -> None:
        import ray

        if not ray.is_initialized():
            raise EnlistError("bad_input", "a store behind an actor needs a connection to Ray",
                              fix="start it inside a run, or give the store's sqlite:// or postgresql:// locator")
        self._path = path.absolute()
        self._artifacts = self._path.parent / "artifacts" if artifacts is None else artifacts.absolute()
        self._node = node or ray.get_runtime_context().get_node_id()
        self._name = f"memory-{bytes_hash(str(self._path).encode())[:16]}"
        self._cache_root = cache
        self._actor: Any = None

    def _call(self, method: str, *arguments: Any, **named: Any) -> Any:
        import ray
        from ray.exceptions import GetTimeoutError, RayActorError

        until = time.monotonic() + ANSWER_S
        while True:
            try:
                if self._actor is None:
                    self._actor = self._find()
                fault, answer = ray.get(self._actor.call.remote(method, arguments, named),
                                        timeout=max(0.1, until - time.monotonic()))
                break
            except (RayActorError, GetTimeoutError, ValueError) as error:  # ValueError: named, but just dying
                self._actor = None
                if time.monotonic() > until or isinstance(error, GetTimeoutError):
                    raise EnlistError("worker_died", "the node that holds the store does not answer",
                                      given=f"{self._name} on node {self._node}: {error}",
                                      fix="start the run again with `enlist resume`; for many nodes use Postgres"
                                      ) from error
                time.sleep(0.1)
        if fault is not None:
            raise EnlistError.from_dict(fault)
        return answer

    def _find(self) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        keeper: Any = ray.remote(StoreKeeper)
        return keeper.options(
            name=self._name, namespace=NAMESPACE, get_if_exists=True, num_cpus=0, max_restarts=-1, max_task_retries=-1,
            max_concurrency=4, scheduling_strategy=NodeAffinitySchedulingStrategy(self._node, soft=False),
        ).remote(str(self._path), str(self._artifacts))

    def commit(self, run: str, attempt: int, events: Sequence[NewEvent], records: Sequence[NewRecord] = (),
               settle: Sequence[Settlement] = ()) -> list[int]:
        return self._call("commit", run, attempt, list(events), list(records), list(settle), token=uuid.uuid4().hex)

    def events(self, run: str, after: int = 0, limit: int | None = None) -> list[Event]:
        return self._call("events", run, after, limit)

    def find_event(self, run: str, kind: str, key: str) -> Event | None:
        return self._call("find_event", run, kind, key)

    def records(self, kind: str, run: str | None = None, roles: Sequence[str] | None = None) -> list[Record]:
        return self._call("records", kind, run, None if roles is None else list(roles))

    def record(self, kind: str, run: str, id: str) -> Record | None:
        return self._call("record", kind, run, id)

    def search(self, text: str, kind: str | None = None, run: str | None = None, limit: int = 20) -> list[Record]:
        return self._call("search", text, kind, run, limit)

    def take_lease(self, run: str, owner: Owner, ttl: float) -> Lease:
        held = self.lease(run)  # whether a process of this node is dead can be seen here, not where the store is
        dead = held.owner if held is not None and owner_alive(held.owner) is False else None
        return self._call("take_lease", run, owner, ttl, dead=dead, token=uuid.uuid4().hex)

    def renew_lease(self, run: str, attempt: int, ttl: float) -> Lease:
        return self._call("renew_lease", run, attempt, ttl)

    def release_lease(self, run: str, attempt: int) -> None:
        self._call("release_lease", run, attempt)

    def lease(self, run: str) -> Lease | None:
        return self._call("lease", run)

    def set_budget(self, run: str, kind: BudgetKind, limit: float) -> None:
        self._call("set_budget", run, kind, limit)

    def reserve(self, run: str, attempt: int, kind: BudgetKind, key: str, amount: float) -> None:
        self._call("reserve", run, attempt, kind, key, amount)

    def budget(self, run: str, kind: BudgetKind) -> BudgetState:
        return self._call("budget", run, kind)

    def runs(self, limit: int = 50) -> list[str]:
        return self._call("runs", limit)

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        ref = ArtifactRef(sha256=bytes_hash(data), media_type=media_type, name=name, bytes=len(data))
        return self._send(ref, lambda offset: data[offset : offset + BLOCK_BYTES])

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        if not source.is_file():
            raise EnlistError("not_found", "no such file to keep", given=str(source))
        ref = ArtifactRef(sha256=file_hash(source), media_type=media_type, name=name, bytes=source.stat().st_size)
        with source.open("rb") as file:
            def block(offset: int) -> bytes:
                file.seek(offset)
                return file.read(BLOCK_BYTES)

            return self._send(ref, block)

    def _send(self, ref: ArtifactRef, block: Callable[[int], bytes]) -> ArtifactRef:
        if self._call("touch_artifact", ref.sha256):
            return ref
        upload, offset = uuid.uuid4().hex, 0
        while data := block(offset):
            self._call("receive_block", upload, offset, data)
            offset += len(data)
        return self._call("finish_upload", upload, ref)

    def open_artifact(self, ref: ArtifactRef) -> Path:
        cache = ArtifactFolder(self._cache())
        if not cache.has(ref.sha256):
            with tempfile.NamedTemporaryFile(dir=cache.root, prefix=".fetch-") as copy:
                while data := self._call("read_block", ref, copy.tell(), BLOCK_BYTES):
                    copy.write(data)
                copy.flush()
                if file_hash(Path(copy.name)) != ref.sha256:
                    raise EnlistError("conflict", f"artifact {ref.name!r} was altered on its way", given=ref.sha256)
                cache.put_file(Path(copy.name), media_type=ref.media_type, name=ref.name)
        return cache.open(ref)

    def _cache(self) -> Path:
        if self._cache_root is None:
            self._cache_root = artifact_cache(self._name).folder().root
        return self._cache_root

    def forget_run(self, run: str) -> None:
        self._call("forget_run", run)

    def forget_checkpoints(self, run: str, role: str | None = None) -> int:
        return self._call("forget_checkpoints", run, role)

    def unused_artifacts(self, grace_s: float, forgotten: Sequence[str] = ()) -> list[tuple[str, int]]:
        return self._call("unused_artifacts", grace_s, list(forgotten))

    def forget_artifacts(self, hashes: Sequence[str], grace_s: float) -> int:
        return self._call("forget_artifacts", list(hashes), grace_s)

    def locator(self) -> str:
        return f"actor:{self._name}?" + urlencode(
            {"node": self._node, "path": str(self._path), "artifacts": str(self._artifacts)})

    def close(self) -> None:
        self._actor = None
