"""A run whose home fills up or cannot be written: a clear fault, nothing lost, and a resume once there is room."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

MAY_MOUNT = shutil.which("unshare") is not None and os.geteuid() == 0 and subprocess.run(
    ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(not MAY_MOUNT, reason="a file system of its own needs root and mount namespaces")

FULL = """
mount -t tmpfs -o size="$1" tmpfs "$ENLIST_HOME"
enlist run "count the words" --attach notes.txt --json > first.json 2> first.err; echo $? > first.rc
mount -o remount,size=200m "$ENLIST_HOME"
enlist runs --json > runs.json
run=$(python -c 'import json; print(json.load(open("runs.json"))["runs"][0]["run"])' 2> /dev/null)
if [ -n "$run" ]; then enlist resume "$run" --json > second.json 2> second.err
else enlist run "count the words" --attach notes.txt --json > second.json 2> second.err; fi; echo $? > second.rc
"""
READ_ONLY = """
mount --bind "$ENLIST_HOME" "$ENLIST_HOME" && mount -o remount,ro,bind "$ENLIST_HOME"
enlist run "count the words" --attach notes.txt --json > first.json 2> first.err; echo $? > first.rc
enlist tools list --json > tools.json; echo $? > tools.rc
"""


@pytest.fixture
def ended(sample_plugin: dict[str, str], tmp_path: Path) -> Any:
    """Run a script in a mount namespace of its own; read what it left."""
    (tmp_path / "home").mkdir()
    (tmp_path / "notes.txt").write_text("three words here\n")

    def run(script: str, *arguments: str) -> None:
        subprocess.run(["unshare", "-m", "bash", "-c", script, "bash", *arguments], cwd=tmp_path, check=True,
                       timeout=400, env={**sample_plugin, "ENLIST_HOME": str(tmp_path / "home"),
                                         "ENLIST_OUT": str(tmp_path / "out")})

    return run


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("size", ["200k", "300k", "340k", "420k"])
def test_a_disk_that_fills_up_is_told_and_the_run_goes_on_once_there_is_room(ended: Any, tmp_path: Path,
                                                                            size: str) -> None:
    ended(FULL, size)
    code = int((tmp_path / "first.rc").read_text())
    document = read(tmp_path / "first.json")
    if code != 0:  # the larger sizes may suffice
        assert code in (1, 2) and document["error"]["code"] == "resource_limit", document["error"]
        assert "free some space" in document["error"]["fix"]
    assert "Traceback" not in (tmp_path / "first.err").read_text()
    assert (tmp_path / "second.rc").read_text().strip() == "0"
    done = read(tmp_path / "second.json")
    assert done["status"] == "done" and {claim["status"] for claim in done["findings"]} == {"confirmed"}


@pytest.mark.slow  # starts Ray
def test_a_read_only_home_is_refused_with_the_way_out_and_what_needs_no_home_works(ended: Any, tmp_path: Path) -> None:
    ended(READ_ONLY)
    assert (tmp_path / "first.rc").read_text().strip() == "2"
    error = read(tmp_path / "first.json")["error"]
    assert error["code"] == "bad_input" and "ENLIST_HOME" in error["fix"]
    assert (tmp_path / "tools.rc").read_text().strip() == "0" and read(tmp_path / "tools.json")["tools"]
