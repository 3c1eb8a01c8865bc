"""What of the machine a job may see at the levels that hide files: programs, libraries, devices that hold no data."""

import os
import sys
from pathlib import Path

FOLDERS: tuple[str, ...] = tuple(path for path in (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/alternatives", "/etc/localtime", "/sys/devices/system/cpu") if os.path.exists(path))
DEVICES: tuple[str, ...] = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
INSIDE = Path(__file__).parent / "inside"
PYTHON = os.path.realpath(sys.executable)
PYTHON_HOME = os.path.realpath(sys.base_prefix)


def inside_command(role: str, *handles: int) -> list[str]:
    """The command that runs our side of the sandbox: isolated, without site-packages, writing no byte code."""
    return [PYTHON, "-I", "-S", "-B", str(INSIDE), role, *map(str, handles)]


def within(path: str, folder: str) -> bool:
    """Whether an absolute `path` is `folder` or lies below it, by name."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
