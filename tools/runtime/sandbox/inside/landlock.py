"""Landlock: a process gives up, for itself and its children, all files but those it names (kernel: Landlock, ABI 1-7).

Rights and structures are those of linux/landlock.h. Each ABI adds rights: 2 refer, 3 truncate, 4 TCP, 5 ioctl on
devices, 6 scopes for signals and abstract sockets. What the running kernel lacks is left out, never assumed.
"""

import ctypes
import errno
import os
from collections.abc import Iterable

from libc import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION_FLAG, _RULE_PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_LAST_RIGHT = {1: 12, 2: 13, 3: 14, 4: 14, 5: 15}  # highest file right of each ABI
_NET_BIND_AND_CONNECT = 3
_SCOPE_ABSTRACT_AND_SIGNAL = 3
SIGNALS_HELD_FROM = 6
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def abi() -> int:
    """The kernel's Landlock ABI; 0 where Landlock is absent or switched off at boot."""
    try:
        return syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def restrict(read_only: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Confine the calling thread; needs no_new_privs. Paths that do not exist are passed over. Raises OSError."""
    version = abi()
    if version == 0:
        raise OSError(errno.ENOSYS, "Landlock is not in this kernel")
    everything = (1 << (_LAST_RIGHT.get(version, 15) + 1)) - 1
    attributes = _Ruleset(everything, _NET_BIND_AND_CONNECT, _SCOPE_ABSTRACT_AND_SIGNAL)
    size = 8 if version < 4 else 16 if version < SIGNALS_HELD_FROM else 24
    ruleset = syscall("landlock_create_ruleset", _CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path in read_only:
            _allow(ruleset, path, (_EXECUTE | _READ_FILE | _READ_DIR) & everything)
        for path in devices:
            _allow(ruleset, path, (_READ_FILE | _WRITE_FILE) & everything)
        for path in writable:
            _allow(ruleset, path, everything & ~_IOCTL_DEV)
        syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, handle)
        syscall("landlock_add_rule", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)
