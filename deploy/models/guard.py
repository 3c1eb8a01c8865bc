"""Run a command and end its whole process group as soon as the process that asked for it is gone.

`guard.py COMMAND...`: standard input is a pipe from the owner. When it closes, however the owner ended, or when the
command's first process ends, everything left in the group gets SIGTERM and, after a moment, SIGKILL. On standard output
the guard says the group's number and, when nothing is left of it, "ended". It is nobody's child: Ray kills the children
of a worker that ends, and a killed guard guards nothing. The command prints to standard error.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

MOMENT = 10.0  # seconds that the command gets to end by itself
REST = 1.0  # seconds that its children get after it: Python's resource tracker ignores SIGTERM, but ends with its users
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def _die_with_guard() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    """Send it; false where the group has no process."""
    with suppress(ProcessLookupError):
        os.killpg(group, number)
        return True
    return False


def _end(command: "subprocess.Popen[bytes]") -> None:
    _signal(command.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        command.wait(MOMENT)
    _gone(command.pid)
    _signal(command.pid, signal.SIGKILL)
    command.wait()
    _gone(command.pid)  # what was killed takes a moment to be dead


def _gone(group: int) -> None:
    """Wait until a group has no process, but not long: one that nobody buries stays for ever."""
    end = time.monotonic() + REST
    while _signal(group, 0) and time.monotonic() < end:
        time.sleep(0.05)


def main() -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # runs the `finally` below
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True,
                               preexec_fn=_die_with_guard)  # one thread: nothing to dead-lock with
    print(command.pid, flush=True)
    try:
        while command.poll() is None:
            if select.select([0], [], [], 0.2)[0] and not os.read(0, 4096):
                break
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end(command)
        with suppress(BrokenPipeError):
            print("ended", flush=True)
        os._exit(0)  # Python would complain of the owner's closed pipe once more


if __name__ == "__main__":
    main()
