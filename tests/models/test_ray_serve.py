"""The Ray Serve deployment that owns a real vLLM: clients leave, engines and replicas are killed, nothing stays."""

import json
import os
import signal
import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil
import pytest

pytestmark = pytest.mark.model
Until = Callable[..., Any]
API = "vllm.entrypoints.openai.api_server --model"
LONG = 1500  # tokens: more than an engine on a CPU writes while a test looks


def question(tokens: int, **more: Any) -> dict[str, Any]:
    return {"model": "smollm2", "temperature": 0, "max_tokens": tokens, "ignore_eos": True,
            "messages": [{"role": "user", "content": "Tell a story."}], **more}


def health(server: Any) -> dict[str, Any]:
    return dict(httpx.get(f"{server.root}/health", timeout=60).json())


def engine(server: Any) -> psutil.Process:
    """vLLM's first process; the guard has the same words, but begins with its own."""
    found, = (p for p in server.processes() if API in (line := " ".join(p.cmdline())) and "guard.py" not in line)
    return found


def metric(server: Any, name: str) -> float:
    """A number that vLLM tells of itself, asked without the relay."""
    words = engine(server).cmdline()
    page = httpx.get(f"http://127.0.0.1:{words[words.index('--port') + 1]}/metrics", timeout=60).text
    return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(f"{name}{{"))


def idle(server: Any) -> bool:
    return health(server)["slots_held"] == 0 and metric(server, "vllm:num_requests_running") == 0


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_slot_and_vllm_stops_writing(ray_serve: Any, until: Until, stream: bool) -> None:
    until(lambda: idle(ray_serve), "nothing runs")
    before = metric(ray_serve, "vllm:generation_tokens_total")
    with socket.create_connection(("127.0.0.1", int(ray_serve.root.rpartition(":")[2]))) as client:
        body = json.dumps(question(LONG, stream=stream)).encode()
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        until(lambda: metric(ray_serve, "vllm:generation_tokens_total") > before, "vLLM writes")
        assert health(ray_serve)["slots_held"] == 1
    until(lambda: idle(ray_serve), "the slot is free and nothing runs")
    assert metric(ray_serve, "vllm:generation_tokens_total") - before < LONG


def test_who_comes_when_slots_and_line_are_full_is_told_to_come_back(ray_serve: Any) -> None:
    def ask(_: int) -> httpx.Response:
        return httpx.post(f"{ray_serve.url}/chat/completions", json=question(200), timeout=900)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(12)))
    counted = Counter(answer.status_code for answer in answers)
    assert set(counted) == {200, 503} and counted[200] >= 4
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 503)


@pytest.mark.parametrize("part", ["its first process", "its core"])
def test_an_engine_that_is_killed_comes_back_and_no_client_takes_the_cut_answer_for_whole(
        ray_serve: Any, until: Until, part: str) -> None:
    first, starts = engine(ray_serve), health(ray_serve)["engine_starts"]
    lines: list[str] = []
    with httpx.stream("POST", f"{ray_serve.url}/chat/completions", json=question(LONG, stream=True),
                      timeout=900) as answer:
        for line in answer.iter_lines():
            lines.append(line)
            if len(lines) == 6:
                victim = first if part == "its first process" else ray_serve.named("EngineCore")
                os.kill(victim.pid, signal.SIGKILL)
    assert any(line.startswith('data: {"error"') for line in lines)  # a dying vLLM says so itself, and [DONE]
    assert not any('"finish_reason":"' in line for line in lines)
    until(lambda: health(ray_serve)["engine_starts"] > starts and ray_serve.healthy(), "another engine answers")
    assert not first.is_running() and health(ray_serve)["slots_held"] == 0
    again = httpx.post(f"{ray_serve.url}/chat/completions", json=question(8), timeout=900)
    assert again.status_code == 200 and again.json()["usage"]["completion_tokens"] == 8


def test_a_replica_that_is_killed_takes_its_engine_along_and_is_replaced(ray_serve: Any, until: Until) -> None:
    first, group = engine(ray_serve), os.getpgid(engine(ray_serve).pid)
    replica = ray_serve.named("ray::ServeReplica")
    replica.kill()
    until(lambda: not _members(group), "nothing of the old engine is left")
    until(lambda: ray_serve.healthy(), "another replica answers")
    assert engine(ray_serve).pid != first.pid
    assert httpx.post(f"{ray_serve.url}/chat/completions", json=question(8), timeout=900).status_code == 200


def _members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_sigterm_ends_everything_that_was_started(ray_serve: Any, until: Until) -> None:
    everything = ray_serve.processes()
    assert len(everything) > 5
    ray_serve.process.send_signal(signal.SIGTERM)
    assert ray_serve.process.wait(120) == 0
    until(lambda: not [p for p in everything if p.is_running() and p.status() != psutil.STATUS_ZOMBIE],
          "every process ends", 60)
    assert not ray_serve.processes()


def test_an_engine_ends_when_what_serves_it_is_killed(short_lived_ray_serve: Any, until: Until) -> None:
    group = os.getpgid(engine(short_lived_ray_serve).pid)
    short_lived_ray_serve.process.kill()
    until(lambda: not _members(group), "nothing of the engine is left", 120)
