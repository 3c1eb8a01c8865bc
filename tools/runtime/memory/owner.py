"""The process that holds a lease, and whether it is still alive.

A process id alone is reused. An owner is a host, a boot of it with its process-id namespace, a process id and the time
at which that process started, counted from the boot: the kernel's tick count does not move when the clock is set.
"""

import os
import socket
from pathlib import Path

from enlist.tools.runtime.memory.protocol import Owner

_START_TICKS, _STATE = 22, 3  # fields of /proc/PID/stat, counted from 1: proc(5)


def this_owner() -> Owner:
    """The calling process as an `Owner`."""
    fields = _stat(os.getpid())
    if fields is None:
        raise RuntimeError("/proc is not mounted: a lease cannot name its process")
    return Owner(host=socket.gethostname(), boot=_boot(), pid=os.getpid(), started=_started(fields))


def owner_alive(owner: Owner) -> bool | None:
    """Whether the process that took a lease lives; None where that cannot be told (another host, boot or container)."""
    if owner.host != socket.gethostname() or owner.boot != _boot():
        return None
    fields = _stat(owner.pid)
    if fields is None:
        # /proc mounted with hidepid hides other users' processes; a signal 0 tells them from absent ones.
        try:
            os.kill(owner.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return None
        return None
    if fields[_STATE] in ("Z", "X"):
        return False
    return _started(fields) == owner.started


def _boot() -> str:
    """The kernel's boot id and this process's pid namespace: two containers may share host name and boot."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"


def _stat(pid: int) -> dict[int, str] | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    after_name = line[line.rindex(")") + 2 :].split()  # a program's name may hold blanks and brackets
    return dict(enumerate(after_name, start=3))


def _started(fields: dict[int, str]) -> float:
    """Seconds from boot to the start of the process."""
    return int(fields[_START_TICKS]) / os.sysconf("SC_CLK_TCK")
