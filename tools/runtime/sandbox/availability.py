"""Which sandbox levels work on this machine: each is tried with a job that attempts what the level forbids.

A level counts as available if its probe ran and everything the level promises was refused to it. `not_held` names what
a level does not keep from a job, as measured or as known of its mechanism.
"""

import functools
import json
import os
import platform
import shutil
import socket
import tempfile
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.sandbox.contract import LEVELS, Job, Level, LevelReport, Limits, Sandbox
from enlist.tools.runtime.sandbox.openings import not_held
from enlist.tools.runtime.sandbox.running import LevelSandbox
from enlist.tools.runtime.sandbox.system import PYTHON, PYTHON_HOME

FORCE_VARIABLE = "ENLIST_SANDBOX"

_FIX: dict[Level, str] = {
    "full": "apt-get install bubblewrap; in a container also allow namespaces (docker run --security-opt "
            "seccomp=unconfined --cap-add SYS_ADMIN), or on Ubuntu 24.04: "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    "landlock": "Linux 5.13 or newer on x86_64 or aarch64 with landlock in the boot parameter lsm=",
    "basic": "Linux 5.4 or newer, /proc mounted, and a Python that an unprivileged user can reach",
}

# run by the sandboxed interpreter; argv: a file that all may read, a folder that all may write to, a port somebody
# listens on, the id of this process
_PROBE = """
import json, os, socket, sys
def tried(act):
    try:
        act()
    except OSError:
        return False
    return True
seen = {
    "reading": tried(lambda: open(sys.argv[1]).read()),
    "writing": tried(lambda: open(sys.argv[2] + "/written", "w").close()),
    "network": tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[3])), 2).close()),
    "signals": tried(lambda: os.kill(int(sys.argv[4]), 0)),
    "root": os.getuid() == 0,
}
with open("seen.json", "w") as file:
    json.dump(seen, file)
"""
_PROMISED: dict[Level, tuple[str, ...]] = {"full": ("reading", "writing", "network", "signals", "root"),
                                           "landlock": ("reading", "writing", "network", "root"), "basic": ("root",)}


def levels() -> list[LevelReport]:
    """A report for each level, best first; tried once per process and user."""
    return [_tried(level, os.geteuid()) for level in LEVELS]


def sandbox(level: Level) -> Sandbox:
    """The sandbox of one level; raises `sandbox_unavailable` with the reason and the way to get it."""
    report = _tried(level, os.geteuid())
    if not report.available:
        raise EnlistError("sandbox_unavailable", f"the sandbox level {level} does not work here: {report.reason}",
                          given=level, allowed=_working(), fix=report.fix)
    return LevelSandbox(level)


def best(minimum: Level = "basic") -> Sandbox:
    """The best sandbox there is, at least `minimum`; ENLIST_SANDBOX names one level instead (and never a lower one than
    `minimum`). Raises `sandbox_unavailable`, and `bad_input` for an unknown name in the variable."""
    fit = LEVELS[:LEVELS.index(minimum) + 1]
    forced = os.environ.get(FORCE_VARIABLE)
    if forced:
        chosen = next((level for level in LEVELS if level == forced), None)
        if chosen is None:
            raise EnlistError("bad_input", f"{FORCE_VARIABLE} names no sandbox level", given=forced,
                              allowed=", ".join(LEVELS), fix=f"unset {FORCE_VARIABLE}")
        if chosen not in fit:
            raise EnlistError("sandbox_unavailable", f"{FORCE_VARIABLE}={chosen} is weaker than this code needs",
                              given=chosen, allowed=", ".join(fit), fix=f"unset {FORCE_VARIABLE}")
        return sandbox(chosen)
    reports = [_tried(level, os.geteuid()) for level in fit]
    for report in reports:
        if report.available:
            return LevelSandbox(report.level)
    raise EnlistError("sandbox_unavailable", f"no sandbox of level {minimum} or better works here",
                      given="; ".join(f"{report.level}: {report.reason}" for report in reports),
                      allowed=_working(), fix="; or ".join(report.fix for report in reports))


def _working() -> str:
    return ", ".join(report.level for report in levels() if report.available) or "none works here"


@functools.cache
def _tried(level: Level, user: int) -> LevelReport:
    if platform.system() != "Linux":
        return LevelReport(level, False, f"{platform.system()} is not Linux", _FIX[level])
    if level == "full" and shutil.which("bwrap") is None:
        return LevelReport(level, False, "bubblewrap (the program bwrap) is not installed", _FIX[level])
    try:
        seen = _probe(level)
    except EnlistError as error:
        return LevelReport(level, False, error.message, error.fix if error.code == "not_found" and error.fix
                           else _FIX[level])
    lost = [name for name in _PROMISED[level] if seen[name]]
    if lost:
        return LevelReport(level, False, f"tried, and it did not hold: {', '.join(lost)}", _FIX[level])
    return LevelReport(level, True, "tried: it held what it promises", "", not_held(level, user == 0, seen["signals"]))


def _probe(level: Level) -> dict[str, bool]:
    """What a job at this level could do, of the things that it tries."""
    with (tempfile.TemporaryDirectory(prefix="enlist-probe-") as folder,
          socket.create_server(("127.0.0.1", 0)) as server):
        root = Path(folder)
        root.chmod(0o755)
        secret, open_to_all, work = root / "secret", root / "open", root / "work"
        secret.write_text("secret")
        secret.chmod(0o644)
        for path in (open_to_all, work):
            path.mkdir()
        open_to_all.chmod(0o777)
        words = (str(secret), str(open_to_all), str(server.getsockname()[1]), str(os.getpid()))
        result = LevelSandbox(level).run(Job((PYTHON, "-I", "-S", "-c", _PROBE, *words), work, (Path(PYTHON_HOME),),
                                             limits=Limits(seconds=30, disk_bytes=1 << 20)))
        try:
            return dict(json.loads((work / "seen.json").read_text()))
        except (OSError, ValueError) as error:
            raise EnlistError("sandbox_unavailable", f"the probe of level {level} did not finish: {result.ending} "
                              f"{result.code} {result.stderr.decode(errors='replace')[-300:]}") from error
