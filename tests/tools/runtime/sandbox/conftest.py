import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.sandbox import Level, LevelReport, levels, python_folders
from enlist.tools.runtime.sandbox.system import INSIDE, PYTHON

ORDINARY_USER = 64999  # nobody's: not in /etc/passwd, so that no process of the machine is touched


@pytest.fixture
def level_report() -> Callable[[Level], LevelReport]:
    def report(level: Level) -> LevelReport:
        found = next(r for r in levels() if r.level == level)
        if not found.available:
            assert not (level == "full" and os.environ.get("ENLIST_REQUIRE_FULL")), found.reason
            pytest.skip(f"level {level} does not work here: {found.reason}")
        return found
    return report


@pytest.fixture
def as_ordinary_user() -> Callable[[str], str]:
    """Run Python code as an ordinary user and return what it printed."""
    def run(code: str) -> str:
        command = [sys.executable, "-c", code]
        if os.geteuid() == 0:
            script = Path(__file__).with_name("as_user.py")
            command = [PYTHON, "-I", "-S", "-B", str(script), str(INSIDE), str(ORDINARY_USER),
                       *map(str, python_folders()), "--", *command]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=300,
                              env={"PATH": os.environ["PATH"], "TMPDIR": "/tmp", "LANG": "C.UTF-8"})
        if "mounting is not allowed here" in done.stderr:
            pytest.skip(f"this Python is out of an ordinary user's reach: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run
