"""The `full` level's command: bubblewrap with namespaces of its own and a file system that holds only what is named."""

import os
import shutil
from collections.abc import Iterable, Sequence

from enlist.tools.runtime.sandbox.system import FOLDERS, INSIDE, PYTHON_HOME, within


def program() -> str | None:
    """Path of the installed bubblewrap, if any."""
    return shutil.which("bwrap")


def command(bwrap: str, inner: Sequence[str], *, read_only: Iterable[str], work: str, disk_bytes: int,
            as_root: bool) -> list[str]:
    """The argument vector that runs `inner` in the private file system.

    Root starts it without a user namespace and keeps the two capabilities that changing to the job's user takes; an
    ordinary user gets a user namespace. /tmp and /dev/shm are in memory, of `disk_bytes` each.
    """
    out = [bwrap, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
           "--die-with-parent", "--cap-drop", "ALL"]
    out += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if as_root else ["--unshare-user"]
    memory = ["--perms", "1777", "--size", str(disk_bytes), "--tmpfs"]
    out += ["--proc", "/proc", "--dev", "/dev", *memory, "/dev/shm", *memory, "/tmp"]
    made: set[str] = {"/", "/tmp", "/dev", "/dev/shm", "/proc"}
    for path in FOLDERS:
        if os.path.islink(path) and not path.startswith("/etc/"):
            out += ["--symlink", os.readlink(path), path]
        else:
            out += [*_parents(path, made), "--ro-bind", path, path]
    bound: list[str] = list(FOLDERS)
    for path in sorted({*read_only, PYTHON_HOME, str(INSIDE)}):
        if not any(within(path, other) for other in bound):
            out += [*_parents(path, made), "--ro-bind", path, path]
            bound.append(path)
    out += [*_parents(work, made, bound), "--bind", work, work]
    return [*out, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--", *inner]


def _parents(path: str, made: set[str], bound: Iterable[str] = ()) -> list[str]:
    """Folders above `path` that are to be made, passable for every user (bubblewrap's own are 0700 under root)."""
    above: list[str] = []
    while (path := os.path.dirname(path)) not in made and not any(within(path, other) for other in bound):
        above.append(path)
        made.add(path)
    return [word for folder in reversed(above) for word in ("--perms", "0755", "--dir", folder)]
