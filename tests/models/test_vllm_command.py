"""What `serve_vllm.py`'s flags come to on vLLM's command line."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def parts(scripts: Callable[[str], Any]) -> Callable[..., tuple[list[str], dict[str, str]]]:
    def made(*words: str) -> tuple[list[str], dict[str, str]]:
        given = scripts("serve_vllm").parse(["/models/m", *words])
        return scripts("vllm_command").command(given, 7), scripts("vllm_command").environment(given)

    return made


def after(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def test_gpus_of_a_replica_are_the_tensor_parallel_size(parts: Any) -> None:
    words, environment = parts("--num-gpus", "4")
    assert after(words, "--tensor-parallel-size") == "4" and "--enforce-eager" not in words
    assert not any(name.startswith(("VLLM_CPU", "OMP")) for name in environment)


def test_without_gpus_the_engine_has_the_threads_it_was_given(parts: Any) -> None:
    words, environment = parts("--threads", "3")
    assert "--tensor-parallel-size" not in words and environment["OMP_NUM_THREADS"] == "3"


def test_vllm_answers_as_many_at_a_time_as_there_are_slots_on_this_machine_only(parts: Any) -> None:
    words, _ = parts("--slots", "5", "--host", "0.0.0.0")
    assert after(words, "--max-num-seqs") == "5" and after(words, "--host") == "127.0.0.1"
    assert after(words, "--port") == "7"


def test_what_follows_two_dashes_goes_to_vllm_as_it_is(parts: Any) -> None:
    words, _ = parts("--slots", "5", "--", "--kv-cache-dtype", "fp8")
    assert words[-2:] == ["--kv-cache-dtype", "fp8"]
