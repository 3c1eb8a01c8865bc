"""The reaper: a small process that outlives a driver for a moment and clears away what it left behind.

When a driver is killed, most of its local Ray dies with it, but some of Ray's agents live on for minutes. The reaper
remembers the driver's descendants while the driver lives; when the pipe from the driver closes, those that are still
the same processes get a moment, then are killed. The folder of Ray's session, whose path came through the pipe, goes
too: Ray keeps it for ever. The reaper touches nothing else.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

LOOK = 1.0  # seconds between two looks at the driver's descendants
MOMENT = 1.5  # seconds that they get to end by themselves


def start() -> subprocess.Popen[bytes]:
    """Start a reaper for this process; it ends when this process does. Not to be waited for."""
    return subprocess.Popen([sys.executable, "-m", "enlist.orchestrator.reaper", str(os.getpid())],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)  # Ctrl-C in the terminal is for the driver alone


def begun(pid: int) -> int | None:
    """When a process began, in clock ticks since boot: with its id, an identity. None where it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def main() -> None:
    from enlist.tools.runtime.sandbox.inside.tree import descendants

    driver, me, known, session = int(sys.argv[1]), os.getpid(), {}, b""
    while True:
        if select.select([0], [], [], LOOK)[0]:
            told = os.read(0, 4096)
            if not told:
                break
            session += told
        for pid in descendants(driver):
            if pid != me and pid not in known and (when := begun(pid)) is not None:
                known[pid] = when
    until = time.monotonic() + MOMENT
    while time.monotonic() < until and any(begun(pid) == when for pid, when in known.items()):
        time.sleep(0.1)
    for pid, when in known.items():
        if begun(pid) == when:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    folder = session.decode().strip()
    if Path(folder).name.startswith("session_"):
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
