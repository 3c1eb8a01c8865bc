"""What a job left in its work folder, read without trusting it: no links followed, nothing but plain files, bounded."""

import json
import os
import stat
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError

SCRATCH = ".tmp"
"""The folder in `work` that Python jobs use for temporary files; never collected."""


def collect(work: Path, *, max_bytes: int = 256 << 20, max_files: int = 10_000) -> dict[str, Path]:
    """The regular files below `work` by relative name ("a/b.txt"), in order of name.

    Links, files with a second name (it may lie elsewhere), pipes, sockets, devices and names that are not UTF-8 are
    left out. Call it after the job's end. Raises `resource_limit` past `max_bytes` (file lengths, in all), `max_files`.
    """
    found: dict[str, Path] = {}
    total, queue = 0, [work]
    while queue:
        for entry in _entries(queue.pop()):
            info = entry.stat(follow_symlinks=False)
            path = Path(entry.path)
            if stat.S_ISDIR(info.st_mode) and path != work / SCRATCH:
                queue.append(path)
            if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or not _is_text(entry.name):
                continue
            total += info.st_size
            found[path.relative_to(work).as_posix()] = path
            if total > max_bytes or len(found) > max_files:
                raise EnlistError("resource_limit", "the job left too much in its work folder",
                                  given=f"{len(found)} files, {total} bytes", allowed=f"{max_files}, {max_bytes}")
    return dict(sorted(found.items()))


def read_json(work: Path, name: str = "result.json", *, max_bytes: int = 16 << 20) -> Any:
    """The JSON value in the plain file `name` of `work`; raises `invalid_output` where there is none or it is no JSON.
    """
    try:
        handle = os.open(work / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_size > max_bytes:
                raise ValueError(f"not a plain file of at most {max_bytes} bytes")
            return json.loads(file.read(max_bytes))
    except (OSError, ValueError, RecursionError) as error:
        raise EnlistError("invalid_output", f"the job left no readable {name}",
                          given=f"{type(error).__name__}: {error}",
                          allowed=f"a JSON file of at most {max_bytes} bytes") from error


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # a folder that the job made unreadable, or a path too long to open, holds no output
        return []


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
