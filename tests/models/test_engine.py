"""The keeper of an inference server, with a server of a few lines that has a child, as vLLM has."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.slow  # each end of a process waits its ten seconds of grace
SERVER = """
import http.server, os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal, time\\n"
                          "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\ntime.sleep(600)"])
with open(sys.argv[2], "a") as file: file.write(f"{os.getpid()} {child.pid}\\n")
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
"""


@pytest.fixture
def born(tmp_path: Path) -> Path:
    return tmp_path / "born"


def pids(born: Path) -> list[list[int]]:
    return [[int(pid) for pid in line.split()] for line in born.read_text().splitlines()] if born.exists() else []


def alive(pid: int) -> bool:
    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


@pytest.fixture
def kept(engine: ModuleType, born: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(engine, "LOOK", 0.05)
    made = engine.Engine(lambda port: [sys.executable, "-c", SERVER, str(port), str(born)], {}, start_s=60)
    yield made
    made.stop()


def test_an_engine_that_is_killed_is_started_again_and_nothing_of_the_dead_one_stays(
        kept: Any, born: Path, until: Callable[..., Any]) -> None:
    kept.start()
    (first, child), = pids(born)
    os.kill(first, signal.SIGKILL)
    until(lambda: kept.starts == 2 and kept.url(), "it starts again", 60)
    assert not alive(child) and len(pids(born)) == 2


def test_stopping_ends_the_whole_tree_even_what_ignores_sigterm(kept: Any, born: Path) -> None:
    kept.start()
    kept.stop()
    assert not any(alive(pid) for line in pids(born) for pid in line)


def test_an_engine_does_not_outlive_an_owner_that_is_killed(born: Path, until: Callable[..., Any]) -> None:
    scripts = Path(__file__).parents[2] / "deploy" / "models"
    owner = subprocess.Popen([sys.executable, "-c", "import sys, time; from engine import Engine\n"
                              "Engine(lambda port: [sys.executable, '-c', sys.argv[1], str(port), sys.argv[2]], {})"
                              ".start(); time.sleep(600)", SERVER, str(born)], env={**os.environ,
                                                                                     "PYTHONPATH": str(scripts)})
    until(lambda: pids(born), "the engine starts", 60)
    owner.kill()
    owner.wait()
    until(lambda: not any(alive(pid) for pid in pids(born)[0]), "the engine ends", 60)


def test_a_guard_that_is_killed_leaves_nothing_behind_and_the_engine_starts_again(
        kept: Any, born: Path, until: Callable[..., Any]) -> None:
    kept.start()
    (first, child), = pids(born)
    psutil.Process(first).parent().kill()
    until(lambda: kept.starts == 2 and kept.url(), "it starts again", 60)
    assert not alive(first) and not alive(child)


def test_a_program_that_is_not_there_is_named(engine: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="no such program, or not to be run: /no/python"):
        engine.Engine(lambda port: ["/no/python"], {}).start()


def test_an_engine_that_hangs_is_started_again(kept: Any, born: Path, until: Callable[..., Any], engine: ModuleType,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "KNOCK", 0.1)
    monkeypatch.setattr(engine, "MISSES", 2)
    kept.start()
    os.kill(pids(born)[0][0], signal.SIGSTOP)
    until(lambda: kept.starts == 2 and kept.url(), "it starts again", 60)


def test_an_engine_that_cannot_start_is_given_up_with_its_command(engine: ModuleType) -> None:
    made = engine.Engine(lambda port: [sys.executable, "-c", "raise SystemExit(1)"], {})
    with pytest.raises(RuntimeError, match=r"did not start 3 times in a row: .*SystemExit"):
        made.start()
    assert made.starts == 3
