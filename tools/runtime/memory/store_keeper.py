"""The class behind the actor of `ActorMemory`: owns the SQLite store and answers for other nodes.

A fault is returned as data, not raised: Ray would wrap it into an exception of its own. Uploads are files on disk that
are written by offset, so that a restart of the actor loses none and a repeated block does no harm.
"""

import threading
from pathlib import Path
from typing import Any

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.memory.keeping import UNFINISHED
from enlist.tools.runtime.memory.sqlite import SqliteMemory


class _ServedStore(SqliteMemory):
    """The store, and the artifact transfers in blocks."""

    def touch_artifact(self, sha256: str) -> bool:
        """Whether an artifact is here; it counts as put now."""
        return self._keeping.touch(sha256)

    def receive_block(self, upload: str, offset: int, block: bytes) -> None:
        """Write a block of an upload."""
        path = self._upload(upload)
        with path.open("r+b" if path.exists() else "wb") as file:
            file.seek(offset)
            file.write(block)

    def finish_upload(self, upload: str, ref: ArtifactRef) -> ArtifactRef:
        """Turn an upload into an artifact; the hash is that of what arrived."""
        path = self._upload(upload)
        if not path.exists():  # a repeat of a call that was carried out, or an upload of no bytes
            if self._keeping.touch(ref.sha256):
                return ref
            if ref.bytes:
                raise EnlistError("worker_died", f"the upload of {ref.name!r} was lost", fix="put the artifact again")
            path.touch()
        kept = self._keeping.put_file(path, media_type=ref.media_type, name=ref.name)
        path.unlink()
        return kept

    def read_block(self, ref: ArtifactRef, offset: int, size: int) -> bytes:
        """At most `size` bytes of an artifact; the first block checks the whole."""
        path = self._keeping.open(ref) if offset == 0 else self._keeping.folder().path(ref.sha256)
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def _upload(self, upload: str) -> Path:
        return self._keeping.folder().root / f"{UNFINISHED}{upload}"


class StoreKeeper:
    """Opens the store at its first call, so that a store that cannot be opened answers with its fault."""

    def __init__(self, path: str, artifacts: str) -> None:
        self._path, self._artifacts = Path(path), Path(artifacts)
        self._store: _ServedStore | None = None
        self._opening = threading.Lock()

    def call(self, method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[dict[str, Any] | None, Any]:
        """(fault as a dictionary or None, the answer) of a method of the store."""
        try:
            with boundary(f"the store's {method}"):
                with self._opening:
                    if self._store is None:
                        self._store = _ServedStore(self._path, self._artifacts)
                return None, getattr(self._store, method)(*arguments, **named)
        except EnlistError as error:
            return error.to_dict(), None
