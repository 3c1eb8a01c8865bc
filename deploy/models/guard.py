"""Run a command and end its whole process group as soon as the process that asked for it is gone.

`guard.py COMMAND...`: the guard's standard input is a pipe from its owner. When that closes, however the owner ended,
or when the command's first process ends, everything left in the group gets SIGTERM and, after a moment, SIGKILL. A
guard that is killed takes the command with it.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

MOMENT = 10.0  # seconds that the group gets to end by itself
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def _die_with_guard() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # runs the `finally` below
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=_die_with_guard)  # one thread: nothing to dead-lock with
    try:
        while command.poll() is None:
            if select.select([0], [], [], 0.2)[0] and not os.read(0, 4096):
                break
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end = time.monotonic() + MOMENT
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGTERM)
        while _alive(command.pid) and time.monotonic() < end:
            command.poll()  # a zombie would count as alive
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
    return command.wait()


if __name__ == "__main__":
    sys.exit(main())
