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


def script(name: str, *words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", f"deploy/{name}-node.sh", *words], cwd=ROOT, env=environment, capture_output=True,
                          text=True, timeout=120)


def with_token(environment: dict[str, str], text: str = "secret", mode: int = 0o600) -> dict[str, str]:
    home = Path(environment["ENLIST_HOME"])
    home.mkdir()
    (home / "ray-token").write_text(text)
    (home / "ray-token").chmod(mode)
    return environment


def test_a_check_says_whether_this_machine_will_do_and_starts_nothing(environment: dict[str, str]) -> None:
    with_token(environment)
    done = script("start", "head", str(free_port()), "--check", environment=environment)
    assert done.returncode == 0, done.stdout
    assert all(word in done.stdout for word in ("versions", "secret", "port", "shared memory", "disk"))
    assert not (Path(environment["ENLIST_HOME"]) / "nodes").exists()


def test_a_check_finds_a_taken_port_and_too_little_shared_memory(environment: dict[str, str]) -> None:
    with_token(environment)
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        done = script("start", "head", str(taken.getsockname()[1]), "--check", "--object-store-mib", "99999999",
                      environment=environment)
    assert done.returncode == 1
    assert sum(line.startswith("FAIL") for line in done.stdout.splitlines()) == 2, done.stdout


@pytest.mark.parametrize(("text", "mode", "said"), [("secret", 0o644, "chmod 600"), ("", 0o600, "empty")])
def test_a_secret_that_is_none_is_refused(environment: dict[str, str], text: str, mode: int, said: str) -> None:
    with_token(environment, text, mode)
    done = script("start", "head", str(free_port()), environment=environment)
    assert done.returncode == 2 and said in done.stderr


def test_a_worker_without_the_heads_secret_is_told_to_copy_it(environment: dict[str, str]) -> None:
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        head.listen()
        done = script("start", "worker", f"127.0.0.1:{head.getsockname()[1]}", environment=environment)
    assert done.returncode == 2 and "copy ray-token" in done.stderr


@pytest.mark.parametrize(("words", "said"), [
    (("--labels", "no equals"), "--labels"), (("--resources", "{'a': 1}"), "--resources"),
    (("--resources", '{"a": "b"}'), "--resources"), (("--worker-ports", "20000"), "--worker-ports")])
def test_options_that_ray_would_choke_on_are_refused(environment: dict[str, str], words: tuple[str, ...],
                                                     said: str) -> None:
    done = script("start", "head", "7000", *words, environment=with_token(environment))
    assert done.returncode == 2 and f"correct {said}" in done.stderr


def test_stopping_ends_the_recorded_processes_and_no_others(environment: dict[str, str]) -> None:
    """A node whose first process was killed, so that the others are orphans, beside a process of somebody else."""
    nodes = Path(environment["ENLIST_HOME"]) / "nodes"
    nodes.mkdir(parents=True)
    sleep = ["sleep", "1000"]
    ours, orphan, other = (subprocess.Popen(sleep, env={**environment, "ENLIST_NODE": id}) for id in ("a", "a", "b"))
    try:
        ours.kill()
        ours.wait()
        (nodes / "a.json").write_text(json.dumps({"id": "a", "pid": ours.pid, "begun": 1, "role": "worker",
                                                  "address": "host:1"}))
        (nodes / "c.json").write_text(json.dumps({"id": "c", "pid": other.pid, "begun": 1, "role": "head",
                                                  "address": ":1"}))  # a record whose process id is another's now
        done = script("stop", "--grace", "0.1", environment=environment)
        assert done.returncode == 0 and "stopped worker host:1" in done.stdout
        assert orphan.wait(timeout=30) == -signal.SIGKILL and other.poll() is None
        assert list(nodes.iterdir()) == []
    finally:
        for process in (orphan, other):
            process.kill()
            process.wait()


@pytest.mark.parametrize("words", [[], ["worker"], ["tail"]])
def test_the_script_says_how_it_is_used(words: list[str]) -> None:
    done = subprocess.run(["bash", "deploy/start-node.sh", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "start-node.sh head" in done.stderr and "start-node.sh worker" in done.stderr
