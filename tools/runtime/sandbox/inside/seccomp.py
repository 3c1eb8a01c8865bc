"""A seccomp filter: system calls that a job never needs, and that reach past files and process trees, are refused.

A classic BPF program (linux/filter.h, linux/seccomp.h) of plain comparisons, written here so that no library is needed.
It refuses, it does not kill: the job sees EPERM, or ENOSYS where programs fall back to an older call. A foreign
calling convention (32-bit code, x32) kills the process, since its call numbers mean other things.
"""

import ctypes
import errno
import os
import socket
import struct

from libc import PR_SET_SECCOMP, prctl

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
# (x86_64, aarch64): arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h
_REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "memfd_secret": (447, 447),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "kexec_load": (246, 104), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    # System V and POSIX queues and segments outlive the process tree and are in no process's memory
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}
_ABSENT = {"io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
           "clone3": (435, 435)}  # clone3's flags lie in memory, where a filter cannot look; libc falls back to clone
_CLONE, _PRLIMIT, _SOCKET, _SOCKETPAIR = (56, 220), (302, 261), (41, 198), (53, 199)
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
_X32 = 0x40000000

_LOAD, _JEQ, _JSET, _JGE, _AND, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data


def _op(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)


def _argument(index: int) -> bytes:
    return _op(_LOAD, _ARGUMENTS + 8 * index)  # the low word; both architectures are little-endian


def _refuse(number: int = errno.EPERM) -> bytes:
    return _op(_RETURN, _ERRNO | number)


def program(network: bool, machine: str | None = None) -> bytes:
    """The filter for this machine; `network=False` also refuses sockets, all but connected pairs of streams.

    Raises OSError (ENOSYS) on an architecture whose numbers are not listed.
    """
    machine = machine or os.uname().machine
    if machine not in _COLUMN:
        raise OSError(errno.ENOSYS, f"no seccomp table for {machine}; allowed: {sorted(_COLUMN)}")
    column = _COLUMN[machine]
    out = _op(_LOAD, _ARCH) + _op(_JEQ, _AUDIT_ARCH[machine], 1, 0) + _op(_RETURN, _KILL)
    out += _op(_LOAD, _NUMBER)
    if machine == "x86_64":
        out += _op(_JGE, _X32, 0, 1) + _op(_RETURN, _KILL)
    for numbers in _REFUSED.values():
        out += _op(_JEQ, numbers[column], 0, 1) + _refuse()
    for numbers in _ABSENT.values():
        out += _op(_JEQ, numbers[column], 0, 1) + _refuse(errno.ENOSYS)
    out += _op(_JEQ, _CLONE[column], 0, 4) + _argument(0) + _op(_JSET, _NEW_NAMESPACES, 0, 1) + _refuse()
    out += _op(_RETURN, _ALLOW)
    # limits of another process may be changed by anyone of the same user: only one's own (process id 0)
    out += _op(_JEQ, _PRLIMIT[column], 0, 4) + _argument(0) + _op(_JEQ, 0, 1, 0) + _refuse() + _op(_RETURN, _ALLOW)
    if not network:
        out += _op(_JEQ, _SOCKET[column], 0, 1) + _refuse(errno.EACCES)
        # a pair of datagram sockets could still send to any other socket; connected streams cannot
        out += (_op(_JEQ, _SOCKETPAIR[column], 0, 5) + _argument(1) + _op(_AND, 0xF)
                + _op(_JEQ, socket.SOCK_STREAM, 1, 0) + _refuse(errno.EACCES) + _op(_RETURN, _ALLOW))
    return out + _op(_RETURN, _ALLOW)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def install(network: bool) -> None:
    """Filter the calling thread and all it starts; needs no_new_privs. Raises OSError."""
    code = program(network)
    loaded = _Program(len(code) // 8, code)
    prctl(PR_SET_SECCOMP, 2, ctypes.cast(ctypes.byref(loaded), ctypes.c_void_p))
