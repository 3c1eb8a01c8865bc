"""Sandboxes: how untrusted code and files run, in a child process that can be killed with all its children.

Three levels. `full`: namespaces by bubblewrap (no network, private file system, own process ids). `landlock`: Landlock
and seccomp, unprivileged. `basic`: resource limits, process group, temporary folder. A user's own file runs at the best
level there is; code that a model wrote needs `landlock` or better, else it is refused. Every level drops privileges
to an unprivileged user when started as root, and its parent watches memory, disk and processes of the whole tree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

Level = Literal["full", "landlock", "basic"]
LEVELS: tuple[Level, ...] = ("full", "landlock", "basic")
Ending = Literal["exited", "signalled", "timeout", "memory", "processes", "disk", "output", "cancelled"]


@dataclass(frozen=True)
class Limits:
    """What a job may use. Seconds are wall time; bytes and processes are of the whole process tree."""

    seconds: float = 60.0
    memory_bytes: int = 2 << 30
    processes: int = 64
    disk_bytes: int = 256 << 20
    output_bytes: int = 4 << 20


@dataclass(frozen=True)
class Job:
    """One command to run apart.

    Attributes:
        argv: the command; its program must lie below a path of `read_only` or the system folders.
        work: an existing folder, the job's current and only writable one; what the job leaves there comes back.
        read_only: folders or files that the job may read, at the same path inside. Started as root, the job is another
            user, so they must be readable by all; copy what is private into `work`, which is made the job's own.
        environment: all of the job's environment variables (nothing is inherited).
        stdin: bytes for its standard input.
    """

    argv: tuple[str, ...]
    work: Path
    read_only: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: Limits = Limits()


@dataclass(frozen=True)
class Result:
    """How a job ended. `code` is the exit status or minus the signal; `stdout` and `stderr` are cut at the limit, which
    both share. `peak_memory_bytes` is the larger of what the watch saw of the tree and the largest single process."""

    ending: Ending
    code: int
    stdout: bytes
    stderr: bytes
    level: Level
    seconds: float
    peak_memory_bytes: int


@dataclass(frozen=True)
class LevelReport:
    """Whether a level works here, tried and not guessed; what it does not hold; else why not and how to get it."""

    level: Level
    available: bool
    reason: str
    fix: str
    not_held: tuple[str, ...] = ()


class Sandbox(Protocol):
    """One level on this machine."""

    @property
    def level(self) -> Level:
        """The level whose promises the jobs run under."""

    def run(self, job: Job, cancelled: Callable[[], bool] = lambda: False) -> Result:
        """Run the job to its end or kill its whole tree; never raises for what the job does.

        Raises `bad_input` for a job without a command or work folder, `not_found` for a program that is not there
        inside, `sandbox_unavailable` where the level cannot be set up."""
