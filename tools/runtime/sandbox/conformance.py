"""The conformance suite of sandboxes: what any implementation of the contract, of whatever origin, is put through.

`failures` runs all checks against one `Sandbox` and its `not_held`, both ways: what is not named there must be held,
and what is named there must really be open, so that a report is neither too bright nor too dark. A check may also be
run alone: each takes a sandbox and an empty folder and raises AssertionError.
"""

import json
import os
import signal
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from enlist.tools.runtime.sandbox.abuses import ABUSES, Abuse
from enlist.tools.runtime.sandbox.attempts import ATTEMPTS, SCRIPT
from enlist.tools.runtime.sandbox.contract import Job, Limits, Result, Sandbox
from enlist.tools.runtime.sandbox.openings import SIGNALS
from enlist.tools.runtime.sandbox.outputs import collect
from enlist.tools.runtime.sandbox.system import PYTHON, PYTHON_HOME

Check = Callable[[Sandbox, Path], None]
_GONE_SECONDS = 10.0


def failures(sandbox: Sandbox, not_held: Sequence[str]) -> list[str]:
    """One sentence for each thing that is not as promised; empty where all is."""
    found: list[str] = []
    for name, check in checks(not_held).items():
        with tempfile.TemporaryDirectory(prefix="enlist-conformance-") as folder:
            try:
                check(sandbox, Path(folder))
            except AssertionError as error:
                found.append(f"{name}: {error}")
    return found


def checks(not_held: Sequence[str]) -> dict[str, Check]:
    """The checks by name that a sandbox with this `not_held` is put through."""
    chosen: dict[str, Check] = {check.__name__.replace("_", " "): check for check in CHECKS}
    chosen |= {abuse.name: _abuse_check(abuse) for abuse in ABUSES}
    chosen["attempts agree with not_held"] = lambda box, folder: attempts_agree(box, folder, not_held)
    if SIGNALS not in not_held:
        chosen["killing everything hurts nobody outside"] = killing_everything_hurts_nobody_outside
    return chosen


def attempts_agree(sandbox: Sandbox, folder: Path, not_held: Sequence[str]) -> None:
    """Every attempt of `ATTEMPTS` succeeds where `not_held` names it, and nowhere else."""
    done = attempt_all(sandbox, folder)
    wrong = [f"{a.name} {'succeeded' if done[a.name] else 'was refused, though listed as open'}"
             for a in ATTEMPTS if done[a.name] != (a.open_where in not_held)]
    assert not wrong, "; ".join(wrong)


def attempt_all(sandbox: Sandbox, folder: Path) -> dict[str, bool]:
    """Which of `ATTEMPTS` succeed in the sandbox, by name."""
    with _reachable() as words:
        code = {attempt.name: attempt.code for attempt in ATTEMPTS}
        result, work = _run(sandbox, folder, SCRIPT, json.dumps(words), json.dumps(code))
        assert result.ending == "exited" and result.code == 0, f"the attempts did not run: {result}"
        return dict(json.loads((work / "done.json").read_text()))


def a_status_is_reported(sandbox: Sandbox, folder: Path) -> None:
    """An exit status comes back as it was, even one that looks like a signal."""
    for status in (0, 7, 137):
        result, _ = _run(sandbox, folder, f"sys.exit({status})")
        assert (result.ending, result.code) == ("exited", status), str(result)


def a_signal_is_reported(sandbox: Sandbox, folder: Path) -> None:
    """A job that a signal ends is `signalled`, its code minus the signal."""
    for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM):
        result, _ = _run(sandbox, folder, f"os.kill(os.getpid(), {int(number)})")
        assert (result.ending, result.code) == ("signalled", -number), str(result)


def input_and_output_pass(sandbox: Sandbox, folder: Path) -> None:
    """Standard input arrives whole, both outputs come back apart, a file in work is collected."""
    text = os.urandom(300_000)
    code = "data = sys.stdin.buffer.read()\nsys.stdout.buffer.write(data[::-1])\nsys.stderr.write('note')\n" \
           "os.mkdir('sub')\nopen('sub/kept', 'wb').write(data)"
    result, work = _run(sandbox, folder, code, stdin=text)
    assert (result.stdout, result.stderr) == (text[::-1], b"note"), "output differs from what was written"
    assert {name: path.read_bytes() for name, path in collect(work).items()} == {"sub/kept": text}


def the_environment_is_the_jobs_alone(sandbox: Sandbox, folder: Path) -> None:
    """The job's variables are those given, none of the caller's."""
    result, _ = _run(sandbox, folder, "print(open('/proc/self/environ').read(), end='')")
    assert sorted(filter(None, result.stdout.decode().split("\0"))) == ["LC_ALL=C.UTF-8", "WORD=given"], str(result)


def privileges_are_gone(sandbox: Sandbox, folder: Path) -> None:
    """No root, no capabilities, no groups of root, no way to gain any."""
    result, _ = _run(sandbox, folder, "print(os.getuid(), os.getgid(), open('/proc/self/status').read())")
    words = result.stdout.decode().split()
    assert "0" not in words[:2], f"runs as user and group {words[:2]}"
    for name, value in (("CapPrm:", "0" * 16), ("CapEff:", "0" * 16), ("CapAmb:", "0" * 16), ("NoNewPrivs:", "1")):
        assert words[words.index(name) + 1] == value, f"{name} {words[words.index(name) + 1]}"


def links_are_not_collected(sandbox: Sandbox, folder: Path) -> None:
    """Of what a job leaves, only plain files of its own come back."""
    code = "os.symlink('/etc/passwd', 'link')\nos.symlink('/etc', 'folder')\nos.mkfifo('pipe')\n" \
           "open('twice', 'w').close()\nos.link('twice', 'again')\nopen('plain', 'w').close()"
    result, work = _run(sandbox, folder, code)
    assert result.code == 0 and list(collect(work)) == ["plain"], f"{result} {list(collect(work))}"


def a_cancelled_job_ends(sandbox: Sandbox, folder: Path) -> None:
    """The caller's callback ends the job and its children."""
    begun = folder / "work-cancel" / "begun"
    code = "os.fork()\nopen('begun', 'w').close()\ntime.sleep(600)"
    result, _ = _run(sandbox, folder, code, cancelled=begun.exists, work=begun.parent)
    assert result.ending == "cancelled", str(result)


def the_tree_dies_with_the_caller(sandbox: Sandbox, folder: Path) -> None:
    """When the process that called `run` is killed (-9), the job and its orphans are gone within seconds."""
    marker, work = uuid.uuid4().hex, folder / "work"
    code = "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    open('begun', 'w').close()\n" \
           "    time.sleep(600)\n  os._exit(0)\ntime.sleep(600)"
    caller = os.fork()
    if caller == 0:
        try:
            _run(sandbox, folder, code, marker=marker, work=work)
        finally:
            os._exit(0)
    try:
        _wait_until((work / "begun").exists, 60, "the job did not begin")
        assert _alive(marker), "the job cannot be seen, so its end cannot be either"
    finally:
        os.kill(caller, signal.SIGKILL)
        os.waitpid(caller, 0)
    _wait_until(lambda: not _alive(marker), _GONE_SECONDS, "the job outlived its caller")


def killing_everything_hurts_nobody_outside(sandbox: Sandbox, folder: Path) -> None:
    """kill(-1, SIGKILL) in a job reaches no process outside. Never run where signals are not held."""
    result, _ = _run(sandbox, folder, "os.kill(-1, 9)")
    assert result.ending in ("exited", "signalled"), str(result)


CHECKS: tuple[Check, ...] = (
    a_status_is_reported, a_signal_is_reported, input_and_output_pass, the_environment_is_the_jobs_alone,
    privileges_are_gone, links_are_not_collected, a_cancelled_job_ends, the_tree_dies_with_the_caller)


def abuse_is_stopped(sandbox: Sandbox, folder: Path, abuse: Abuse) -> None:
    """The abuse ends as it must, within its limits on disk and output, and leaves no process behind."""
    marker = uuid.uuid4().hex
    result, _ = _run(sandbox, folder, abuse.code, marker=marker, limits=abuse.limits)
    assert result.ending == abuse.ending, f"ended as {result.ending} {result.code} {result.stderr[-300:]!r}"
    assert len(result.stdout) + len(result.stderr) <= abuse.limits.output_bytes, "more output than the limit"
    assert not _alive(marker), "left processes behind"


def _abuse_check(abuse: Abuse) -> Check:
    return lambda sandbox, folder: abuse_is_stopped(sandbox, folder, abuse)


def _run(sandbox: Sandbox, folder: Path, code: str, *arguments: str, marker: str = "", work: Path | None = None,
         stdin: bytes = b"", limits: Limits | None = None,
         cancelled: Callable[[], bool] = lambda: False) -> tuple[Result, Path]:
    """Run `code` with this interpreter in a fresh work folder; `marker` can be found in its command line."""
    folder.chmod(0o755)
    work = work or Path(tempfile.mkdtemp(prefix="work-", dir=folder))
    work.mkdir(exist_ok=True)
    job = Job((PYTHON, "-I", "-S", "-c", f"import os, sys, time\n{code}\n#{marker}", *arguments), work,
              (Path(PYTHON_HOME),), {"WORD": "given", "LC_ALL": "C.UTF-8"}, stdin, limits or Limits())
    return sandbox.run(job, cancelled), work


def _alive(marker: str) -> list[str]:
    """Processes, zombies aside, with `marker` in their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if marker.encode() in Path("/proc", name, "cmdline").read_bytes():
                found.append(name)
        except OSError:
            continue
    return found


def _wait_until(true: Callable[[], object], seconds: float, complaint: str) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, complaint
        time.sleep(0.05)


@contextmanager
def _reachable() -> Iterator[dict[str, str | int]]:
    """Things outside a sandbox that every process of the machine can reach, for `ATTEMPTS` to try."""
    with tempfile.TemporaryDirectory(prefix="enlist-outside-", dir="/tmp") as name, _listening(Path(name)) as words:
        yield words


@contextmanager
def _listening(folder: Path) -> Iterator[dict[str, str | int]]:
    folder.chmod(0o755)
    secret, mine, everywhere, path = (folder / name for name in ("secret", "mine", "everywhere", "socket"))
    for file in (secret, mine):
        file.write_text("secret")
        file.chmod(0o644)
    everywhere.mkdir()
    everywhere.chmod(0o777)
    abstract = f"enlist-{uuid.uuid4().hex}"
    with (socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
          socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as unnamed):
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        echo = threading.Thread(target=_echo, args=(udp,), daemon=True)
        echo.start()
        for server, address in ((named, str(path)), (unnamed, "\0" + abstract)):
            server.bind(address)
            server.listen()
        path.chmod(0o777)
        try:
            yield {"secret": str(secret), "mine": str(mine), "everywhere": str(everywhere), "port": port,
                   "path": str(path), "abstract": abstract, "caller": os.getpid()}
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stop:
                stop.sendto(b"stop", ("127.0.0.1", port))
            echo.join()


def _echo(udp: socket.socket) -> None:
    """Answer datagrams until one says stop."""
    while (message := udp.recvfrom(16))[0] != b"stop":
        udp.sendto(message[0], message[1])
