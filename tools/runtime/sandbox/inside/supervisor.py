"""The supervisor: the one process that outlives both the job and Enlist, and leaves nothing alive behind.

It is the subreaper of the job's tree (prctl(2)), so an orphan of any depth, in whatever session, becomes its child
and is found. It ends everything when the job ends, when its control pipe says so or closes, and when its parent is
gone; it is done when the kernel says that it has no child left.
"""

import contextlib
import os
import select
import signal
import time
from typing import Any

from launch import launch
from libc import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, prctl
from tree import kill_below

_LOOK_SECONDS = 0.2  # how often it asks whether its parent lives: a fork of the parent may hold the pipe open
_GIVE_UP_SECONDS = 30.0  # a process in uninterruptible sleep cannot be waited for without end


def supervise(spec: dict[str, Any], status: int, control: int) -> None:
    """Start the job of `spec`, wait for its end or for ours, then kill all that is left."""
    parent = os.getppid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_DUMPABLE, 0)  # no job of the same user may look into it
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(control, False)
    child = os.fork()
    if child == 0:
        if spec["wrapper"]:
            os.execve(spec["wrapper"][0], spec["wrapper"], {})
        launch(spec, status)
        os._exit(0)
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    poll.register(ended, select.POLLIN)
    while os.getppid() == parent:
        ready = poll.poll(_LOOK_SECONDS * 1000)
        if child in _reap() or any(handle == control for handle, _ in ready):
            break
    give_up = time.monotonic() + _GIVE_UP_SECONDS
    while _has_children() and time.monotonic() < give_up:
        kill_below(os.getpid())
        _reap()
        time.sleep(0.005)


def _reap() -> set[int]:
    """Collect all dead children (orphans that became ours among them)."""
    gone: set[int] = set()
    with contextlib.suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            gone.add(pid)
    return gone


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
