"""The few kernel calls that Python 3.11 does not wrap."""

import ctypes
import os
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
CLONE_NEWNS = 0x00020000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, argument: Any = 0, extra: Any = 0) -> int:
    """prctl(2) with every argument passed as a full word."""
    words = [value if isinstance(value, ctypes.c_void_p) else ctypes.c_ulong(value) for value in (argument, extra)]
    return _checked(f"prctl({option})", _libc.prctl(option, *words, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def syscall(name: str, number: int, *arguments: Any) -> int:
    """A system call by number; raises OSError naming it."""
    words = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    _libc.syscall.restype = ctypes.c_long
    return _checked(name, _libc.syscall(ctypes.c_long(number), *words))


def unshare_mounts() -> None:
    """A mount namespace of our own, from which nothing spreads back."""
    _checked("unshare(CLONE_NEWNS)", _libc.unshare(CLONE_NEWNS))
    mount("none", "/", "", MS_REC | MS_PRIVATE)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    encoded = [os.fsencode(text) for text in (source, target, kind)]
    _checked(f"mount {target}", _libc.mount(*encoded, ctypes.c_ulong(flags), os.fsencode(data)))
