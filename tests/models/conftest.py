"""Servers of real models, in the environments that `make test-model` set up, and the scripts of deploy/models."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import psutil
import pytest

SCRIPTS = Path(__file__).parents[2] / "deploy" / "models"
PATIENCE_S = 900.0  # for a server on a busy machine to start or answer; says nothing of speed
NAME = "smollm2"
MARK = "MODEL_TEST_SERVER"


def script(name: str) -> ModuleType:
    """A file of deploy/models as a module."""
    full = f"deploy_models_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, SCRIPTS / f"{name}.py")
        assert spec and spec.loader
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


@pytest.fixture
def scripts() -> Callable[[str], ModuleType]:
    return script


@pytest.fixture
def relay() -> ModuleType:
    return script("relay")


@pytest.fixture
def engine() -> ModuleType:
    return script("engine")


@pytest.fixture
def gguf2hf() -> ModuleType:
    return script("gguf2hf")


@pytest.fixture
def until() -> Callable[..., Any]:
    """Wait until something is true; gives what it gave."""
    def wait(happened: Callable[[], Any], what: str, patience: float = PATIENCE_S) -> Any:
        end = time.monotonic() + patience
        while not (found := happened()):
            assert time.monotonic() < end, f"{what}: not in {patience:g} s"
            time.sleep(0.1)
        return found

    return wait


@dataclass(frozen=True)
class Server:
    """A server under test; `url` ends in /v1, `root` does not."""

    root: str
    process: "subprocess.Popen[bytes]"
    log: Path
    mark: str

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def healthy(self) -> bool:
        try:
            return httpx.get(f"{self.root}/health", timeout=10).status_code == 200
        except httpx.HTTPError:
            return False

    def processes(self) -> list[psutil.Process]:
        """All that began with it, wherever it went: by a mark in the environment, and by process group, since some
        overwrite their environment with a title."""
        marked = [p for p in psutil.process_iter() if _mark(p) == self.mark]
        groups = {os.getpgid(p.pid) for p in marked if p.is_running()} - {os.getpgid(0)}
        grouped = [p for p in psutil.process_iter() if p.pid and _group(p) in groups]
        return list({p.pid: p for p in [*marked, *grouped]}.values())

    def named(self, part: str) -> psutil.Process:
        """The one process of it whose command line holds `part`."""
        found, = (p for p in self.processes() if part in " ".join(p.cmdline()))
        return found


def _mark(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None


def _group(process: psutil.Process) -> int | None:
    try:
        return None if process.status() == psutil.STATUS_ZOMBIE else os.getpgid(process.pid)
    except (psutil.Error, ProcessLookupError):
        return None


def _environment(name: str) -> str:
    python = Path(os.environ.get("ENLIST_MODELS", "")) / name / "bin" / "python"
    assert python.is_file(), f"no environment {name!r}; these tests are run by: make test-model"
    return str(python)


@contextmanager
def _running(log: Path, port: int, *command: str) -> Iterator[Server]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "ENLIST_", "PYTHON"))}
    mark = uuid.uuid4().hex
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True,
                                   env={**kept, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", MARK: mark})
    server = Server(f"http://127.0.0.1:{port}", process, log, mark)
    try:
        end = time.monotonic() + PATIENCE_S
        while not server.healthy():
            assert process.poll() is None and time.monotonic() < end, log.read_text()[-3000:]
            time.sleep(0.5)
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(120)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def gguf() -> Path:
    found = list(Path(os.environ.get("ENLIST_MODELS", "")).glob("weights/*.gguf"))
    assert len(found) == 1, "no weights; these tests are run by: make test-model"
    return found[0]


@pytest.fixture(scope="session")
def llamacpp(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """SmolLM2 under llama.cpp."""
    port = _free_port()
    with _running(tmp_path_factory.mktemp("llama") / "log", port, _environment("llama"),
                  str(SCRIPTS / "serve_llamacpp.py"), str(gguf), "--name", NAME, "--port", str(port)) as server:
        yield server


@pytest.fixture(scope="module")
def vllm(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same weights, converted, under vLLM with no Ray; the command is the one that the deployment uses."""
    port, vllm_command = _free_port(), script("vllm_command")
    given = script("serve_vllm").parse([str(gguf.parent / "smollm2-hf"), "--name", NAME,
                                        "--engine-python", _environment("vllm")])
    settings = [f"{key}={value}" for key, value in vllm_command.environment(given).items()]
    with _running(tmp_path_factory.mktemp("vllm") / "log", port, "env", *settings,
                  *vllm_command.command(given, port)) as server:
        yield server


def _ray_serve(gguf: Path, log: Path) -> AbstractContextManager[Server]:
    port = _free_port()
    return _running(log, port, _environment("serve"), str(SCRIPTS / "serve_vllm.py"), str(gguf.parent / "smollm2-hf"),
                    "--name", NAME, "--port", str(port), "--engine-python", _environment("vllm"),
                    "--slots", "2", "--waiting", "2")


@pytest.fixture(scope="module")
def ray_serve(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same under a Ray Serve deployment that owns the vLLM process: two slots, a line of two."""
    with _ray_serve(gguf, tmp_path_factory.mktemp("serve") / "log") as server:
        yield server


@pytest.fixture
def short_lived_ray_serve(gguf: Path, tmp_path: Path) -> Iterator[Server]:
    """One that a test may end."""
    with _ray_serve(gguf, tmp_path / "log") as server:
        yield server
