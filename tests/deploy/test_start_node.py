"""The cluster scripts start a real cluster that a run can use."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "ENLIST_"))}
    return {**kept, "ENLIST_HOME": str(tmp_path / "home"), "ENLIST_PYTHON": sys.executable,
            "ENLIST_OUT": str(tmp_path / "out")}


@pytest.fixture
def head(environment: dict[str, str]) -> Iterator[str]:
    port = free_port()
    started = subprocess.Popen(["bash", "deploy/start-node.sh", "head", str(port)], cwd=ROOT, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and started.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.5)
    yield f"127.0.0.1:{port}"
    started.send_signal(signal.SIGTERM)
    try:
        started.wait(30)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.cluster
def test_a_run_uses_the_cluster_that_the_script_started(head: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "enlist"), "run", "How far is this model from the limit of an H100?",
         "--attach", "examples/gpt2.py", "--address", head, "--json"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["status"] == "done" and document["findings"]


@pytest.mark.parametrize("words", [[], ["worker"], ["tail"]])
def test_the_script_says_how_it_is_used(words: list[str]) -> None:
    done = subprocess.run(["bash", "deploy/start-node.sh", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "start-node.sh head" in done.stderr and "start-node.sh worker" in done.stderr
