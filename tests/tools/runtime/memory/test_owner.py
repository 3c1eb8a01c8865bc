"""Owners: a live process, a dead one, a reused id, and what cannot be told."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from enlist.tools.runtime.memory.owner import owner_alive, this_owner
from enlist.tools.runtime.memory.protocol import Owner


def owner_of(process: "subprocess.Popen[bytes]") -> Owner:
    """The owner of a child, its start told by psutil, which counts from 1970."""
    ours = psutil.Process().create_time()
    started = this_owner().started + psutil.Process(process.pid).create_time() - ours
    return this_owner().model_copy(update={"pid": process.pid, "started": round(started, 2)})


def test_this_process_lives() -> None:
    owner = this_owner()
    assert owner.pid == os.getpid() and owner_alive(owner) is True


def test_the_start_is_counted_from_boot_as_psutil_counts_it() -> None:
    since_boot = psutil.Process().create_time() - psutil.boot_time()
    assert this_owner().started == pytest.approx(since_boot, abs=0.02)


def test_a_child_lives_until_it_is_killed_even_before_it_is_reaped(tmp_path: Path) -> None:
    program = tmp_path / ") R 1 ("  # a name that a careless reader of /proc/PID/stat takes for fields
    shutil.copy("/bin/sleep", program)
    child = subprocess.Popen([program, "60"])
    owner = owner_of(child)
    assert owner_alive(owner) is True
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, a zombie
    assert owner_alive(owner) is False
    child.wait()
    assert owner_alive(owner) is False


def test_a_reused_process_id_is_another_process() -> None:
    assert owner_alive(this_owner().model_copy(update={"started": this_owner().started - 1})) is False


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"boot": "another boot"}])
def test_another_host_or_boot_cannot_be_told(change: dict[str, str]) -> None:
    assert owner_alive(this_owner().model_copy(update={**change, "pid": 2**22 + 1})) is None
