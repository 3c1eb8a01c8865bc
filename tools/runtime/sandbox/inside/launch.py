"""From a specification to a running job: confine a child of our own, let it become the job, report how it ended.

The report is lines of JSON on the status pipe: `fault` where the job could not be started, else `started` and, at its
end, `code` (exit status or minus the signal) and `maxrss` (bytes, the largest process waited for). A job that kills
this process leaves `started` alone, which reads as killed.
"""

import json
import os
import resource
import signal
from typing import Any, NoReturn

import landlock
import seccomp
from libc import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, prctl
from view import reveal

_OPEN_FILES = 1024


def read_spec(handle: int) -> dict[str, Any]:
    """The specification from a file that several processes share (so without moving its offset)."""
    return json.loads(os.pread(handle, os.fstat(handle).st_size, 0))


def launch(spec: dict[str, Any], status: int) -> None:
    """Run the job of `spec` to its end and report on `status`."""
    prctl(PR_SET_DUMPABLE, 0)  # as the job's own user, else the job could write our reports
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the job goes with us, and we with whoever started us
    trouble, tell = os.pipe()  # closed by a successful exec
    child = os.fork()
    if child == 0:
        _become(spec, tell)
    os.close(tell)
    with os.fdopen(trouble, "rb") as file:
        fault = file.read()
    os.write(status, (fault or b'{"started": true}') + b"\n")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not fault:
        maxrss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        os.write(status, json.dumps({"code": code, "maxrss": maxrss}).encode() + b"\n")


def _become(spec: dict[str, Any], tell: int) -> NoReturn:
    step = "start"
    try:
        confine(spec)
        step = "exec"
        os.execvpe(spec["argv"][0], spec["argv"], spec["environment"])
    except BaseException as error:
        os.write(tell, json.dumps({"fault": f"{type(error).__name__}: {error}", "step": step}).encode())
    finally:
        os._exit(127)


def confine(spec: dict[str, Any]) -> None:
    """Give up, for good, all that the level takes away. Raises OSError where the kernel refuses."""
    os.setsid()
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                continue  # the handle that listed the folder
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            try:
                signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE and SIGXFSZ, and exec keeps that
            except (OSError, ValueError):
                continue  # numbers that the C library keeps for itself
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, spec["disk_bytes"])
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_AS, spec["address_bytes"])
    _limit(resource.RLIMIT_NPROC, spec["tasks"])
    if spec["user"] is not None:
        if spec["level"] != "full":
            reveal([*spec["read_only"], spec["work"]], spec["user"])
        os.setgroups([])
        os.setresgid(spec["user"], spec["user"], spec["user"])
        os.setresuid(spec["user"], spec["user"], spec["user"])
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which clears it
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    os.chdir(spec["work"])
    if spec["level"] == "landlock":
        landlock.restrict([*spec["system"], *spec["read_only"]], [spec["work"]], spec["devices"])
    if spec["level"] != "basic":
        seccomp.install(network=spec["level"] == "full")  # there a network of its own, with nobody in it


def _limit(kind: int, amount: int) -> None:
    hard = resource.getrlimit(kind)[1]
    amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    resource.setrlimit(kind, (amount, amount))
