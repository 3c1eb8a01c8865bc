"""Ways to folders that an unprivileged user may read but not reach.

A Python below /root (mode 0700) is readable by all and reachable by root alone. Where the job's user is stopped by such
a folder, a mount namespace of the job's own covers it with an empty one that holds just the needed paths.
"""

import os
from collections.abc import Iterable

from libc import MS_BIND, MS_NODEV, MS_NOSUID, MS_REC, mount, unshare_mounts


def barrier(path: str, user: int) -> str | None:
    """The topmost folder above `path` that `user` (in no group of its owner) may not pass; None where the way is free.
    """
    above: list[str] = []
    while (path := os.path.dirname(path)) not in above:
        above.append(path)
    for folder in reversed(above):
        info = os.stat(folder)
        if not info.st_mode & 0o001 and info.st_uid != user:
            return folder
    return None


def reveal(paths: Iterable[str], user: int) -> None:
    """Make every one of `paths` reachable for `user`, in this process and its children only.

    Raises PermissionError where that needs a mount and mounting is not allowed (root of a container).
    """
    behind: dict[str, list[str]] = {}
    for path in sorted(set(paths)):
        if os.path.exists(path) and (folder := barrier(path, user)) is not None:
            behind.setdefault(folder, []).append(path)
    if not behind:
        return
    try:
        unshare_mounts()
    except OSError as error:
        names = ", ".join(sorted(behind))
        raise PermissionError(f"user {user} cannot pass {names}, and mounting is not allowed here ({error}); "
                              f"chmod o+x that folder, or keep Python and work folders elsewhere") from error
    old = os.umask(0o022)
    for folder, needed in behind.items():
        handles = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in needed]  # before the cover hides them
        mount("none", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k")
        for path, handle in zip(needed, handles, strict=True):
            _place(path, os.path.isdir(f"/proc/self/fd/{handle}"))
            mount(f"/proc/self/fd/{handle}", path, "", MS_BIND | MS_REC)
            os.close(handle)
    os.umask(old)


def _place(path: str, folder: bool) -> None:
    if os.path.exists(path):
        return
    os.makedirs(path if folder else os.path.dirname(path), exist_ok=True)
    if not folder:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
