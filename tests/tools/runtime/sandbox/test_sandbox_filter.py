import errno
import socket
import struct
import subprocess

import pytest

from enlist.tools.runtime.sandbox.system import INSIDE, PYTHON

X86, ARM = 0xC000003E, 0xC00000B7  # AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 of linux/audit.h
ALLOW, KILL = "allow", "kill"


def _program(machine: str, network: bool) -> bytes:
    """The filter as the inside of the sandbox builds it."""
    code = (f"import sys; sys.path.insert(0, {str(INSIDE)!r}); import seccomp; "
            f"sys.stdout.buffer.write(seccomp.program({network}, {machine!r}))")
    return subprocess.run([PYTHON, "-I", "-S", "-c", code], capture_output=True, check=True).stdout


def _verdict(program: bytes, architecture: int, number: int, *arguments: int) -> str | int:
    """What the kernel would answer: a classic BPF machine with the seven operations of networking/filter.rst."""
    words = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, architecture, 0, *words)
    operations = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = held = 0
    while True:
        code, true, false, value = operations[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("<I", data, value)[0]
        elif code == 0x54:
            held &= value
        elif code == 0x06:
            return ALLOW if value == 0x7FFF0000 else KILL if value == 0x80000000 else value & 0xFFFF
        else:
            passed = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += true if passed else false


@pytest.mark.parametrize(("machine", "architecture", "numbers"), [
    # read, ptrace, unshare, clone, clone3, io_uring_setup, prlimit64, socket, socketpair
    ("x86_64", X86, (0, 101, 272, 56, 435, 425, 302, 41, 53)),
    ("aarch64", ARM, (63, 117, 97, 220, 435, 425, 261, 198, 199)),
])
def test_the_filter_refuses_what_it_should_and_nothing_else(
        machine: str, architecture: int, numbers: tuple[int, ...]) -> None:
    read, ptrace, unshare, clone, clone3, uring, prlimit, sock, pair = numbers
    closed, with_network = _program(machine, False), _program(machine, True)
    for program in (closed, with_network):
        assert _verdict(program, architecture, read) == ALLOW
        assert _verdict(program, architecture, ptrace) == errno.EPERM
        assert _verdict(program, architecture, unshare, 0x10000000) == errno.EPERM
        assert _verdict(program, architecture, clone, 0x3D0F00) == ALLOW  # the flags of a thread by glibc
        assert _verdict(program, architecture, clone, 0x10000000 | 17) == errno.EPERM  # CLONE_NEWUSER
        assert _verdict(program, architecture, clone3) == errno.ENOSYS
        assert _verdict(program, architecture, uring) == errno.ENOSYS
        assert _verdict(program, architecture, prlimit, 0) == ALLOW
        assert _verdict(program, architecture, prlimit, 1) == errno.EPERM
        assert _verdict(program, 0x40000003, read) == KILL  # 32-bit code
    for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
        assert _verdict(closed, architecture, sock, family) == errno.EACCES
        assert _verdict(with_network, architecture, sock, family) == ALLOW
    assert _verdict(closed, architecture, pair, 1, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) == ALLOW
    assert _verdict(closed, architecture, pair, 1, socket.SOCK_DGRAM) == errno.EACCES


def test_the_second_calling_convention_of_x86_64_is_killed() -> None:
    assert _verdict(_program("x86_64", False), X86, 0x40000000 | 41) == KILL


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        _program("riscv64", False)
