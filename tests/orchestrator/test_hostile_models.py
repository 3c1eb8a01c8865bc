"""A user's model file may do anything: it runs only inside the sandbox, and what it does is a named fault at worst."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enlist.agents.calls import declared
from enlist.orchestrator.attach import attach
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.runner import Ran, run_tool
from enlist.tools.runtime.sandbox import best

GOOD = """
import torch
{top}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
        {init}
    def forward(self, x):
        {forward}
        return self.inner(x)
def get_inputs():
    {inputs}
    return [torch.rand(4, 8)]
def get_init_inputs():
    return []
"""


def model(top: str = "", init: str = "pass", forward: str = "pass", inputs: str = "pass") -> str:
    return GOOD.format(top=top, init=init, forward=forward, inputs=inputs)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return open_memory(f"sqlite://{tmp_path_factory.mktemp('hostile') / 'store.db'}")


def capture(memory: Any, folder: Path, source: str, name: str = "model.py", limit: float = 60.0) -> Ran:
    (folder / name).write_text(source, encoding="utf-8")
    (one,) = attach(memory, [folder / name])
    tool = declared("solar-capture")
    return run_tool(tool, registry.entries("enlist.tools")["solar-capture"].value,
                    tool.parse({"model": one.ref.model_dump()}), memory, limit=limit)


def fault(memory: Any, folder: Path, source: str, limit: float = 60.0) -> EnlistError:
    with pytest.raises(EnlistError) as raised:
        capture(memory, folder, source, limit=limit)
    return raised.value


def test_a_good_model_with_a_non_latin_name_that_prints_is_captured(memory: Any, tmp_path: Path) -> None:
    noisy = model(top="print('{\"output\": 1}', flush=True)", forward="print('x' * 1000)")
    ran = capture(memory, tmp_path, noisy, name="模型 модель.py")
    assert ran.output.operators >= 1 and ran.level == best().level  # type: ignore[attr-defined]


def test_a_model_that_raises_is_quoted_with_its_own_line(memory: Any, tmp_path: Path) -> None:
    error = fault(memory, tmp_path, model(forward="raise RuntimeError('no weights on Tuesdays')"))
    assert error.code == "tool_failed" and "no weights on Tuesdays" in error.message
    assert "model.py:10" in error.sentence()


def test_a_syntax_error_is_named_with_its_line(memory: Any, tmp_path: Path) -> None:
    error = fault(memory, tmp_path, "import torch\nclass Model(\n")
    assert error.code == "bad_input" and (":2" in error.sentence() or "line 2" in error.sentence())


def test_a_file_without_a_model_says_what_was_found_and_what_is_allowed(memory: Any, tmp_path: Path) -> None:
    error = fault(memory, tmp_path, "import torch\nclass Net(torch.nn.Module):\n    pass\n")
    assert error.code == "bad_input" and "Net" in error.sentence() and "Model" in error.sentence()


def test_a_model_that_loops_for_ever_is_killed_with_its_children(memory: Any, tmp_path: Path) -> None:
    marker = f"enlist-loop-{os.getpid()}"
    top = f"import subprocess; subprocess.Popen(['sleep', '3600'], env={{'MARK': '{marker}'}})\nwhile True: pass"
    error = fault(memory, tmp_path, model(top=top), limit=6.0)
    assert error.code == "timeout"
    assert not [p for p in Path("/proc").glob("[0-9]*/environ") if marker.encode() in quiet(p)]


def quiet(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("ending", ["import os; os._exit(0)", "import sys; sys.exit(3)",
                                    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"])
def test_a_model_that_ends_the_process_is_a_fault_of_the_tool(memory: Any, tmp_path: Path, ending: str) -> None:
    assert fault(memory, tmp_path, model(top=ending)).code == "tool_failed"


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        stop = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                    heard.append(connection.recv(100))
                except OSError:
                    continue

        thread = threading.Thread(target=listen)
        thread.start()
        yield server.getsockname()[1], heard
        stop.set()
        thread.join()


@pytest.mark.skipif(best().level == "basic", reason="the basic level does not hold the network, and says so")
def test_a_model_that_calls_out_reaches_nobody(memory: Any, tmp_path: Path,
                                               listener: tuple[int, list[bytes]]) -> None:
    port, heard = listener
    error = fault(memory, tmp_path, model(
        top=f"import socket; socket.create_connection(('127.0.0.1', {port}), 2).sendall(b'secret')"))
    assert error.code == "tool_failed" and not heard


def test_a_model_that_forges_the_result_file_is_checked_against_the_schema(memory: Any, tmp_path: Path) -> None:
    forged = "import json, os; open('result.json', 'w').write(json.dumps({'output': {'operators': -1, 'x': 1}}))"
    error = fault(memory, tmp_path, model(top=forged + "; os._exit(0)"))
    assert error.code == "invalid_output"


@pytest.mark.parametrize("junk", ["{", *(pytest.param(j, marks=pytest.mark.slow) for j in (
    "null", "[1]", '{"error": {"code": "nonsense"}}', "[" * 100_000, "NaN"))])
def test_a_junk_result_file_is_refused(memory: Any, tmp_path: Path, junk: str) -> None:
    top = f"import os; f = open('result.json', 'w'); f.write({junk[:20]!r} * {max(1, len(junk) // 20)}); f.close()"
    error = fault(memory, tmp_path, model(top=top + "; os._exit(0)"))
    assert error.code == "invalid_output"


def test_a_huge_tensor_is_not_allocated(memory: Any, tmp_path: Path) -> None:
    huge = model().replace("torch.rand(4, 8)", "torch.rand(200_000_000_000, 8)")
    assert capture(memory, tmp_path, huge).output.operators >= 1  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_memory_bomb_is_killed(memory: Any, tmp_path: Path) -> None:
    bomb = model(top="hold = []\nwhile True: hold.append(bytearray(100_000_000))")
    assert fault(memory, tmp_path, bomb).code in ("resource_limit", "tool_failed")


@pytest.mark.parametrize("code", ["cancelled", *(pytest.param(c, marks=pytest.mark.slow) for c in (
    "stale_attempt", "worker_died", "budget_exhausted"))])
def test_a_model_cannot_pretend_that_the_run_was_stopped(memory: Any, tmp_path: Path, code: str) -> None:
    forged = {"error": {"code": code, "message": "nothing to see"}}
    top = f"import json, os; open('result.json', 'w').write(json.dumps({forged!r})); os._exit(0)"
    assert fault(memory, tmp_path, model(top=top)).code == "tool_failed"
