"""The artifacts of a store: kept by hash in a folder, put by any process while another one clears away.

A run puts an artifact first and commits the record that refers to it afterwards. So a put makes the file young (its
modification time is now, also where the bytes were there already), and only old files are deleted: a file is moved
aside, looked at again, and moved back if somebody put it in between.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from enlist.tools.runtime.artifacts import ArtifactFolder, ArtifactRef
from enlist.tools.runtime.errors import EnlistError

UNFINISHED = ".put-"
"""How the names of temporary files in an `ArtifactFolder` begin."""
FORMS = "/absolute/folder, file:///absolute/folder, s3://bucket/prefix, gs://bucket/prefix or az://account/container"
NAME_ONE = "name a folder that every node sees, or an object store, with ENLIST_ARTIFACTS or artifacts= in the locator"


class ArtifactKeeping:
    """An `ArtifactFolder` that is made when it is first needed; `root` None means that the store has none."""

    def __init__(self, root: Path | None) -> None:
        self.root = root

    @property
    def place(self) -> str | None:
        """The folder as a string, as a locator names it."""
        return None if self.root is None else str(self.root)

    def folder(self) -> ArtifactFolder:
        """The folder; `bad_input` where there is none or it cannot be made."""
        if self.root is None:
            raise EnlistError("bad_input", "this store has no place for artifacts", allowed=FORMS, fix=NAME_ONE)
        try:
            return ArtifactFolder(self.root)
        except OSError as error:
            raise _disk_error(error, self.root) from error

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        """Keep `data`."""
        return self._put(lambda folder: folder.put_bytes(data, media_type=media_type, name=name))

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        """Keep a copy of a file; `not_found` where it is not a readable file."""
        if not source.is_file():
            raise EnlistError("not_found", "no such file to keep", given=str(source))
        return self._put(lambda folder: folder.put_file(source, media_type=media_type, name=name))

    def _put(self, put: Callable[[ArtifactFolder], ArtifactRef]) -> ArtifactRef:
        folder = self.folder()
        while True:
            try:
                ref = put(folder)
            except OSError as error:
                raise _disk_error(error, folder.root) from error
            if self.touch(ref.sha256):  # else it was cleared away between the look and the touch
                return ref

    def touch(self, sha256: str) -> bool:
        """Make the file of an artifact young; False where it is absent."""
        try:
            os.utime(self.folder().path(sha256))
        except FileNotFoundError:
            return False
        return True

    def open(self, ref: ArtifactRef) -> Path:
        """The verified file of an artifact."""
        return self.folder().open(ref)

    def old(self, grace_s: float) -> Iterator[tuple[str, int]]:
        """Hash and size of the files that nobody put in the last `grace_s` seconds."""
        if self.root is None or not self.root.is_dir():
            return
        for path in sorted(self.root.glob("[0-9a-f][0-9a-f]/" + "[0-9a-f]" * 64)):
            status = path.stat()
            if not _young(status.st_mtime, grace_s):
                yield path.name, status.st_size

    def delete(self, sha256: str, grace_s: float) -> int:
        """Delete one old file; returns its bytes, 0 where it was put again or is gone."""
        path = self.folder().path(sha256)
        aside = path.with_name(f".gone-{sha256}")
        try:
            os.replace(path, aside)
        except FileNotFoundError:
            return 0
        status = aside.stat()
        if _young(status.st_mtime, grace_s):
            os.replace(aside, path)
            return 0
        aside.unlink()
        return status.st_size

    def sweep(self, grace_s: float) -> None:
        """Delete old unfinished files of writers that died."""
        if self.root is not None:
            for path in self.root.glob(f"{UNFINISHED}*"):
                if not _young(path.stat().st_mtime, grace_s):
                    path.unlink(missing_ok=True)


def _young(modified: float, grace_s: float) -> bool:
    return time.time() - modified < grace_s


def _disk_error(error: OSError, root: Path) -> EnlistError:
    code = "resource_limit" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "bad_input"
    return EnlistError(code, f"the artifact folder cannot be written: {error.strerror}", given=str(root),
                       fix="free some space there, or make the folder writable")
