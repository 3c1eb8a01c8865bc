"""Fixtures for every room: a third-party plug-in, installed apart from the environment of the tests."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(scope="session")
def sample_plugin() -> Iterator[dict[str, str]]:
    """The environment of a process that has `enlist-sample` installed and finds `enlist` and `python` on its path.

    The folder is readable by all, unlike pytest's own: tools in a sandbox run as another user.
    """
    with tempfile.TemporaryDirectory(prefix="enlist-sample-") as folder:
        os.chmod(folder, 0o755)
        source, target = Path(folder) / "source", Path(folder) / "installed"
        shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
                        "--no-index", "--disable-pip-version-check", "--target", str(target), str(source)],
                       check=True, capture_output=True)
        yield {**os.environ, "PYTHONPATH": str(target),
               "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


@pytest.fixture
def side_effects() -> Iterator[Path]:
    """An empty file to which the sample plug-in's process tool appends, named to it by SAMPLE_SIDE_EFFECTS; the user
    that tools run as may write to it."""
    with tempfile.TemporaryDirectory(prefix="enlist-effects-") as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "effects"
        path.touch()
        path.chmod(0o666)
        yield path
