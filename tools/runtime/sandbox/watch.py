"""The watch over a job's tree, from outside: memory, processes, disk.

Memory is the sum of proportional set sizes, so that pages shared by forked workers count once. Disk is what lies in the
work folder, what memory file systems hold, and files that are open but deleted. A sample costs as much as the tree is
large, so samples are taken at most a tenth of the time and at least every 50 ms when that is cheap.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from enlist.tools.runtime.sandbox.contract import Ending, Limits
from enlist.tools.runtime.sandbox.inside.tree import deleted_files, descendants, memory_bytes

_EVERY_SECONDS = 0.05
_BLOCK = 4096  # an empty file or folder takes room too: an inode and its name


@dataclass
class Watch:
    """Samples the tree below process `root`; `own` of its processes are ours and not the job's."""

    root: int
    work: Path
    limits: Limits
    own: int
    memory_folders: tuple[str, ...]
    peak_memory_bytes: int = 0
    due: float = 0.0

    def look(self, now: float) -> Ending | None:
        """The limit that is passed, if any; does nothing before the next sample is due (`now`: monotonic seconds)."""
        if now < self.due:
            return None
        pids = descendants(self.root)
        memory = sum(memory_bytes(pid) for pid in pids)
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory)
        disk = self._disk_bytes(pids)
        end = time.monotonic()
        self.due = end + max(_EVERY_SECONDS, 9 * (end - now))
        if memory > self.limits.memory_bytes:
            return "memory"
        if len(pids) - self.own > self.limits.processes:
            return "processes"
        return "disk" if disk > self.limits.disk_bytes else None

    def _disk_bytes(self, pids: list[int]) -> int:
        held: dict[tuple[int, int], int] = {}
        for pid in pids:
            held.update(deleted_files(pid))
        total = folder_bytes(self.work, self.limits.disk_bytes) + sum(held.values())
        if pids and self.memory_folders:
            total += _memory_folders_bytes(f"/proc/{pids[-1]}/root", self.memory_folders)
        return total


def folder_bytes(folder: Path, enough: int) -> int:
    """Bytes on disk below `folder` without following links, each entry at least a block; stops counting past `enough`.
    """
    total, queue = 0, [str(folder)]
    while queue and total <= enough:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in entries:
                    total += max(_BLOCK, entry.stat(follow_symlinks=False).st_blocks * 512)
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except OSError:
            continue  # gone or renamed while we looked
    return total


def _memory_folders_bytes(root: str, folders: tuple[str, ...]) -> int:
    try:
        if os.stat(root).st_dev == os.stat("/").st_dev:
            return 0  # the sandbox's own root is not there yet
        spaces = [os.statvfs(root + folder) for folder in folders]
    except OSError:
        return 0  # gone
    return sum((space.f_blocks - space.f_bfree) * space.f_frsize for space in spaces)
