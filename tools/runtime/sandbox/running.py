"""Running one job at one level: the supervisor is started, its output read without pause, its tree watched.

Everything that can end a job early (a limit, the deadline, the caller) is one act: the control pipe is closed and the
supervisor kills the tree. The same happens when this process dies, however it dies.
"""

import contextlib
import json
import os
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.sandbox import bubblewrap
from enlist.tools.runtime.sandbox.contract import Ending, Job, Level, Result
from enlist.tools.runtime.sandbox.inside.tree import kill_below, tasks_of_user
from enlist.tools.runtime.sandbox.system import DEVICES, FOLDERS, PYTHON_HOME, inside_command
from enlist.tools.runtime.sandbox.watch import Watch

_USERS = range(61184, 65520)  # users of nobody's: the range that systemd gives to services for the time they run
_ADDRESS_SPARE_BYTES = 2 << 30  # address space over the memory limit: importing torch alone maps almost as much
_TASK_SPARE = 64  # threads over the process limit: the watch must see the limit passed before forks begin to fail
_OUR_PROCESSES = {"full": 3, "landlock": 1, "basic": 1}  # bubblewrap twice and the launcher; the launcher
_TICK_SECONDS = 0.02
_GOODBYE_SECONDS = 40.0  # the supervisor gives up after 30


@dataclass(frozen=True)
class LevelSandbox:
    """A `Sandbox` of one level; whether that level works here is for `levels()` to say."""

    level: Level

    def run(self, job: Job, cancelled: Callable[[], bool] = lambda: False) -> Result:
        """Run the job to its end or kill its whole tree.

        Raises `bad_input` for a job that cannot be meant, `not_found` for a program that is not there inside,
        `sandbox_unavailable` where the level cannot be set up. Never raises for what the job does. Needs Linux 5.4.
        """
        work = _checked(job)
        user = secrets.choice(_USERS) if os.geteuid() == 0 else None
        if user is not None:
            _give(work, user)
        with contextlib.ExitStack() as stack:
            spec, stdin = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            stdin.write(job.stdin)
            stdin.seek(0)
            control, status, stdout, stderr = (_Pipe(stack) for _ in range(4))
            inside = (spec.fileno(), status.write.fileno())
            spec.write(json.dumps(self._spec(job, work, user, inside_command("launch", *inside))).encode())
            spec.flush()
            started = time.monotonic()
            supervisor = subprocess.Popen(
                inside_command("supervise", *inside, control.read.fileno()), stdin=stdin, stdout=stdout.write,
                stderr=stderr.write, pass_fds=(*inside, control.read.fileno()), start_new_session=True, cwd="/",
                env={k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"})
            for end in (control.read, status.write, stdout.write, stderr.write):
                end.close()
            watch = Watch(supervisor.pid, work, job.limits, _OUR_PROCESSES[self.level],
                          ("/tmp", "/dev/shm") if self.level == "full" else ())
            with _killing(supervisor, control.write):
                ending, data = _follow(supervisor, control.write,
                                       {"status": status.read, "stdout": stdout.read, "stderr": stderr.read}, watch,
                                       started + job.limits.seconds, cancelled)
        return self._result(job, ending, data, time.monotonic() - started, watch)

    def _spec(self, job: Job, work: Path, user: int | None, launcher: list[str]) -> dict[str, Any]:
        limits = job.limits
        readable = [os.path.abspath(path) for path in job.read_only]
        tasks = limits.processes + _TASK_SPARE
        if user is None and self.level != "full":  # in a user namespace only its own tasks count (Linux 5.14)
            tasks += tasks_of_user(os.getuid())
        wrapper: list[str] = []
        if self.level == "full":
            wrapper = bubblewrap.command(_bwrap(), launcher, read_only=readable, work=str(work),
                                         disk_bytes=limits.disk_bytes, as_root=user is not None)
        return {"level": self.level, "wrapper": wrapper, "argv": list(job.argv), "work": str(work), "user": user,
                "environment": dict(job.environment), "read_only": readable, "devices": DEVICES, "tasks": tasks,
                "system": [*FOLDERS, "/proc", PYTHON_HOME], "disk_bytes": limits.disk_bytes,
                "address_bytes": limits.memory_bytes + _ADDRESS_SPARE_BYTES}

    def _result(self, job: Job, ending: Ending | None, data: dict[str, bytearray], seconds: float,
                watch: Watch) -> Result:
        reports = _reports(bytes(data["status"]))
        stderr = bytes(data["stderr"])
        if not reports or "fault" in reports[0]:
            if ending is None:
                raise _fault(self.level, job, reports[0] if reports else {}, stderr)
            reports = [{}]  # ended by us before it had begun
        last = reports[-1]
        code = last["code"] if isinstance(last.get("code"), int) else -signal.SIGKILL
        peak = max(watch.peak_memory_bytes, last["maxrss"] if isinstance(last.get("maxrss"), int) else 0)
        if ending is None:
            ending = "disk" if code == -signal.SIGXFSZ else "signalled" if code < 0 else "exited"
        else:
            code = -signal.SIGKILL
        return Result(ending, code, bytes(data["stdout"]), stderr, self.level, seconds, peak)


def _checked(job: Job) -> Path:
    if not job.argv or any("\0" in word for word in job.argv):
        raise EnlistError("bad_input", "a job needs a command", given=repr(job.argv),
                          allowed="a program and its arguments, without NUL")
    work = Path(os.path.abspath(job.work))
    if not work.is_dir() or work.is_symlink() or work == Path("/"):
        raise EnlistError("bad_input", "a job needs a work folder of its own", given=str(job.work),
                          allowed="an existing folder", fix="make a new temporary folder for each job")
    return work


def _give(work: Path, user: int) -> None:
    """Make `user` the owner of all in `work`; a file that has a second name elsewhere is left alone."""
    os.chown(work, user, user, follow_symlinks=False)
    for folder, folders, files in os.walk(work):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.isdir(path) or os.lstat(path).st_nlink == 1:
                os.chown(path, user, user, follow_symlinks=False)


def _bwrap() -> str:
    if (found := bubblewrap.program()) is None:
        raise EnlistError("sandbox_unavailable", "bubblewrap (the program bwrap) is not installed", given="level full",
                          fix="apt-get install bubblewrap")
    return found


class _Pipe:
    """Both ends of a pipe as unbuffered files, closed with `stack` at the latest."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        read, write = os.pipe()
        self.read = stack.enter_context(FileIO(read, "rb"))
        self.write = stack.enter_context(FileIO(write, "wb"))


@contextlib.contextmanager
def _killing(supervisor: subprocess.Popen[bytes], control: FileIO) -> Iterator[None]:
    """On the way out, however that is taken, nothing of the job is alive."""
    try:
        yield
    finally:
        control.close()
        try:
            supervisor.wait(_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            kill_below(supervisor.pid)
            supervisor.kill()
            supervisor.wait()


def _follow(supervisor: subprocess.Popen[bytes], control: FileIO, readers: dict[str, FileIO], watch: Watch,
            deadline: float, cancelled: Callable[[], bool]) -> tuple[Ending | None, dict[str, bytearray]]:
    """Read and watch until the supervisor is gone; the first reason that we had to end the job, and what was read."""
    data = {name: bytearray() for name in readers}
    ending: Ending | None = None
    with selectors.DefaultSelector() as selector:
        for name, reader in readers.items():
            os.set_blocking(reader.fileno(), False)
            selector.register(reader, selectors.EVENT_READ, (name, reader))
        while True:
            over = supervisor.poll() is not None  # before reading: what was written earlier is then read to its end
            for key, _ in selector.select(0 if over else _TICK_SECONDS):
                name, reader = key.data
                while block := reader.read(1 << 16):  # None: nothing more for now; b"": the end
                    if not _keep(data, name, block, watch.limits.output_bytes):
                        ending = ending or "output"
                        break
            if over:
                return ending, data
            now = time.monotonic()
            if ending is None:
                ending = watch.look(now) or ("timeout" if now > deadline else "cancelled" if cancelled() else None)
            if ending is not None:
                control.close()


def _keep(data: dict[str, bytearray], name: str, block: bytes, limit: int) -> bool:
    """Add what fits; False where something did not."""
    room = limit - len(data["stdout"]) - len(data["stderr"]) if name != "status" else limit
    data[name] += block[:max(0, room)]
    return len(block) <= room


def _reports(text: bytes) -> list[dict[str, Any]]:
    reports = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            if isinstance(report := json.loads(line), dict):
                reports.append(report)
    return reports


def _fault(level: Level, job: Job, report: dict[str, Any], stderr: bytes) -> EnlistError:
    if report.get("step") == "exec":
        return EnlistError("not_found", "the program cannot be started in the sandbox", given=job.argv[0],
                           allowed="a program below read_only or the system folders",
                           fix="name the folder that holds it in read_only", details=str(report["fault"]))
    reason = str(report.get("fault") or stderr.decode(errors="replace").strip()[-500:] or "it ended without a word")
    return EnlistError("sandbox_unavailable", f"the sandbox level {level} could not be set up: {reason}",
                       given=f"level {level}", fix="see `levels()` for what works here; docs/safety.md says how to "
                                                   "get each level", details=stderr.decode(errors="replace"))
