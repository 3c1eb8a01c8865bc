"""A cluster of three nodes on this machine, as `deploy/` starts one on three machines.

Each node has an ENLIST_HOME, a folder of temporary files and a working folder of its own. Where this user may make
mount namespaces, a worker sees the folders of the others as empty ones: what it reads, it got through the store.
"""

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from enlist.orchestrator.node import processes
from enlist.tools.runtime.events import Event
from enlist.tools.runtime.memory import open_memory

ROOT = Path(__file__).parents[2]
WAIT_S = 180.0  # for something that must happen at some time; says nothing of speed
REQUEST = "count the words in this text"
_NUMBERS = count()
ENLIST = str(Path(sys.executable).parent / "enlist")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def until(happened: Callable[[], Any], what: str, patience: float = WAIT_S) -> Any:
    """Wait until `happened()` is true; returns what it gave."""
    end = time.monotonic() + patience
    while not (found := happened()):
        assert time.monotonic() < end, f"{what}: not in {patience:g} s"
        time.sleep(0.05)
    return found


@dataclass
class Node:
    """One node: its folder, the id its processes carry, and its first process."""

    folder: Path
    process: "subprocess.Popen[bytes]"

    @property
    def id(self) -> str:
        (record,) = (self.folder / "home" / "nodes").glob("*.json")
        return record.stem

    def named(self, part: str) -> list[psutil.Process]:
        """Its processes whose command line holds `part`."""
        found = []
        for pid in processes(self.id):
            with suppress(psutil.Error):
                if part in " ".join(psutil.Process(pid).cmdline()):
                    found.append(psutil.Process(pid))
        return found

    def kill(self) -> None:
        """Everything of the node dies at once, as when its machine loses power."""
        for pid in processes(self.id):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(timeout=30)
        until(lambda: not processes(self.id), "the node's processes end")


@dataclass
class Cluster:
    """A cluster under test, and a machine that types the commands."""

    folder: Path
    environment: dict[str, str]
    nodes: list[Node] = field(default_factory=list)
    port: int = 0
    ended: set[str] = field(default_factory=set)

    @property
    def isolates(self) -> bool:
        """Whether a worker is kept from the folders of the others."""
        return can_isolate()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, workers: int = 2) -> None:
        """A head that offers no processor, so that tools run elsewhere, and its workers."""
        self.port = free_port()
        self._node("head", str(self.port), "--cpus", "0")
        until(lambda: self._listens(), "the head listens")
        for _ in range(workers):
            self._node("worker", self.address, "--cpus", "1")
        for node in self.nodes:
            until(lambda node=node: node.named("raylet/raylet"), "the raylet starts")

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _node(self, role: str, *words: str) -> None:
        folder = self.folder / f"{role}{len(self.nodes)}"
        (folder / "home").mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        shutil.copy2(self.folder / "driver" / "home" / "ray-token", folder / "home" / "ray-token")
        environment = {**self.environment, "ENLIST_HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
        command = ["bash", str(ROOT / "deploy" / "start-node.sh"), role, *words, "--temp-dir", str(folder / "ray"),
                   "--object-store-mib", "128"]
        if role == "worker" and can_isolate():
            hidden = [self.folder / "driver", *(n.folder for n in self.nodes)]
            mounts = "; ".join(f"mount -t tmpfs none {h}" for h in hidden)
            command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", f'{mounts}; exec "$@"', "-",
                       *command]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        self.nodes.append(Node(folder, process))
        until(lambda: list((folder / "home" / "nodes").glob("*.json")), "the node is recorded")

    def stop(self) -> None:
        """End every node by the script, and see that nothing of them is left."""
        for node in reversed(self.nodes):  # the head last: a raylet takes its time without one
            ids = node.id
            subprocess.run(["bash", str(ROOT / "deploy" / "stop-node.sh")], check=True, stdout=subprocess.DEVNULL,
                           env={**self.environment, "ENLIST_HOME": str(node.folder / "home")})
            node.process.wait(timeout=30)
            assert not processes(ids)
        self.nodes.clear()

    def drive(self, *words: str, address: bool = True) -> "subprocess.Popen[str]":
        """A command of the machine that types, under way."""
        there = ["--address", self.address] if address else []
        return subprocess.Popen([ENLIST, *words, *there, "--json"], cwd=self.folder / "driver", text=True,
                                env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, *texts: str, address: bool = True) -> "subprocess.Popen[str]":
        """A run over these texts, under way."""
        words = []
        for number, text in enumerate(texts):
            path = self.folder / "driver" / f"notes{number}.txt"
            path.write_text(text)
            words += ["--attach", str(path)]
        return self.drive("run", REQUEST, *words, address=address)

    def answer(self, driver: "subprocess.Popen[str]", patience: float = WAIT_S) -> tuple[int, dict[str, Any]]:
        """Exit status and document of a command, with the content of its report as `content`."""
        printed, said = driver.communicate(timeout=patience)
        assert printed, said
        document = json.loads(printed)
        self.ended.add(str(document.get("run")))
        if document.get("report"):
            document["content"] = json.loads(Path(document["report"]["json"]).read_text())["content"]
        return driver.returncode, document

    def wait_for(self, happened: Callable[[list[Event]], Any], driver: "subprocess.Popen[str]") -> Any:
        """Wait until the journal of the run under way shows something."""
        def look() -> Any:
            assert driver.poll() is None, driver.communicate()
            return happened(self.events())

        return until(look, "the journal shows it")

    def events(self) -> list[Event]:
        """The journal of the run of which no command has told the end yet."""
        locator = self.environment.get("ENLIST_MEMORY") or f"sqlite://{self.folder / 'driver' / 'home' / 'store.db'}"
        memory = open_memory(locator)
        try:
            runs = [run for run in memory.runs() if run not in self.ended]
            return memory.events(runs[0]) if runs else []
        finally:
            memory.close()


@cache
def can_isolate() -> bool:
    """Whether this user may hide folders from a process."""
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"],
                          capture_output=True, check=False).returncode == 0


@pytest.fixture
def cluster(sample_plugin: dict[str, str], side_effects: Path) -> Iterator[Cluster]:
    """No node yet; `start` makes them. The folder has a short name: Ray's sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="enl-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = folder / "driver" / "home"
        home.mkdir(parents=True)
        (home / "ray-token").touch(mode=0o600)
        (home / "ray-token").write_text(os.urandom(16).hex())
        kept = {k: v for k, v in sample_plugin.items() if not k.startswith(("RAY_", "ENLIST_"))}
        made = Cluster(folder, {**kept, "ENLIST_HOME": str(home), "ENLIST_OUT": str(folder / "driver" / "out"),
                                "ENLIST_PYTHON": sys.executable, "SAMPLE_SIDE_EFFECTS": str(side_effects)})
        with ExitStack() as ending:
            ending.callback(lambda: [node.kill() for node in made.nodes if processes(node.id)])
            yield made


@pytest.fixture(scope="session")
def object_store() -> Iterator[dict[str, str]]:
    """A server that speaks S3; gives ENLIST_ARTIFACTS and the credentials that a node needs."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    secret = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1", aws_access_key_id="test",
                 aws_secret_access_key="test").create_bucket(Bucket="artifacts")
    yield {"ENLIST_ARTIFACTS": f"s3://artifacts/runs?endpoint=http://{host}:{port}&region=us-east-1", **secret}
    server.stop()


@pytest.fixture
def postgres(_postgres_server: dict[str, str]) -> dict[str, str]:
    """A new database of a PostgreSQL server that listens on TCP: ENLIST_MEMORY, and the password that a node needs."""
    import psycopg

    name = f"store{next(_NUMBERS)}"
    with psycopg.connect(f"{_postgres_server['ENLIST_MEMORY']}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
    return {**_postgres_server, "ENLIST_MEMORY": f"{_postgres_server['ENLIST_MEMORY']}/{name}"}


@pytest.fixture(scope="session")
def _postgres_server() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="enl-pg-") as name:
        os.chmod(name, 0o755)
        port = free_port()
        with (Path(name) / "log").open("wb") as log:
            process = subprocess.Popen(["bash", str(ROOT / "deploy" / "trial-postgres.sh"), f"{name}/pg", str(port)],
                                       stdout=log, stderr=log)
        try:
            until(lambda: "ready to accept" in (Path(name) / "log").read_text(), "PostgreSQL starts")
            password = (Path(name) / "pg" / "password").read_text()
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PGPASSWORD", password)
                yield {"ENLIST_MEMORY": f"postgresql://enlist@127.0.0.1:{port}", "PGPASSWORD": password}
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
