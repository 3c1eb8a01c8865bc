"""Artifacts: content by hash, never by path.

An `ArtifactRef` names bytes; where they lie is the store's business. `ArtifactFolder` keeps them as files named by
their hash, written to a temporary file and renamed, so that a reader sees all of an artifact or none of it.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import file_hash


class ArtifactRef(BaseModel):
    """A file by content: SHA-256, media type, a name to show and its size in bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    media_type: str = "application/octet-stream"
    name: str
    bytes: int = Field(ge=0)


class ArtifactFolder:
    """Files by hash below `root`; any number of processes may write and read at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """Where the bytes of `sha256` lie or would lie."""
        return self.root / sha256[:2] / sha256

    def has(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        """Keep `data`; writing the same bytes twice keeps one copy."""
        digest = hashlib.sha256(data).hexdigest()
        if not self.has(digest):
            self._place(data, digest)
        return ArtifactRef(sha256=digest, media_type=media_type, name=name, bytes=len(data))

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        """Keep a copy of a regular file, hashed while it is copied (the file may change under us)."""
        self.root.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        handle, temporary = tempfile.mkstemp(prefix=".put-", dir=self.root)
        try:
            with os.fdopen(handle, "wb") as out, source.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
                    size += len(block)
                    out.write(block)
                out.flush()
                os.fsync(out.fileno())
            target = self.path(digest.hexdigest())
            target.parent.mkdir(exist_ok=True)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return ArtifactRef(sha256=digest.hexdigest(), media_type=media_type, name=name, bytes=size)

    def open(self, ref: ArtifactRef) -> Path:
        """The path of an artifact's bytes; `not_found` where they are absent, `conflict` where they were altered."""
        path = self.path(ref.sha256)
        if not path.is_file():
            raise EnlistError("not_found", f"artifact {ref.name!r} is not in this store", given=ref.sha256,
                              fix="attach the file again, or name the store that holds it with ENLIST_HOME")
        if file_hash(path) != ref.sha256:
            raise EnlistError("conflict", f"artifact {ref.name!r} was altered on disk", given=ref.sha256,
                              fix="delete the damaged file and attach it again")
        return path

    def _place(self, data: bytes, digest: str) -> None:
        target = self.path(digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".put-", dir=self.root)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
