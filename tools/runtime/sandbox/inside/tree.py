"""Process trees as /proc shows them: who descends from whom, and what they hold in memory and in deleted files."""

import contextlib
import os
import signal
import stat


def descendants(root: int) -> list[int]:
    """Process ids below `root`, parents first, zombies left out; a snapshot that a forking tree may outrun."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (seen := _parent(name)) is not None:
            children.setdefault(seen, []).append(int(name))
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def _parent(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return None
    return None if state in (b"Z", b"X") else int(parent)


def memory_bytes(pid: int) -> int:
    """Proportional set size of a process in bytes (shared pages divided among their users, proc(5) smaps_rollup); its
    resident set where the kernel does not show that; 0 for a process that is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def deleted_files(pid: int) -> dict[tuple[int, int], int]:
    """Bytes of the regular files that a process holds open although no name is left (memfd files too), by device and
    inode. No walk of a folder finds these."""
    found: dict[tuple[int, int], int] = {}
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return found
    for name in names:
        try:
            info = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode) and info.st_nlink == 0:
            found[info.st_dev, info.st_ino] = info.st_blocks * 512
    return found


def tasks_of_user(uid: int) -> int:
    """Threads that count against RLIMIT_NPROC of `uid`."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count


def kill_below(root: int) -> bool:
    """Freeze, then kill, all that descends from `root`; True if there was anything.

    Frozen processes keep their places under RLIMIT_NPROC, so a fork bomb runs out of room while it is being
    counted; killing first would make room for new ones.
    """
    frozen: set[int] = set()
    while fresh := [pid for pid in descendants(root) if pid not in frozen]:
        for pid in fresh:
            _send(pid, signal.SIGSTOP)
        frozen.update(fresh)
    for pid in frozen:
        _send(pid, signal.SIGKILL)
    return bool(frozen)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
