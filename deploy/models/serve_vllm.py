"""Serve a model with vLLM from Ray Serve, at an OpenAI-compatible address, until SIGTERM or Ctrl-C.

Each replica of the deployment owns one vLLM process: starts it, checks its health, starts it again when it dies or
hangs, passes requests on, and ends its whole tree. Ray and vLLM may live in environments of their own
(`--engine-python`), since neither's requirements are the other's. What follows `--` goes to vLLM as it is.
"""

import argparse
import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import Any

APPLICATION = "enlist-model"


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage="%(prog)s MODEL [OPTION...] [-- FLAG_OF_VLLM...]", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a Hugging Face folder that every node can read")
    parser.add_argument("--name", default="model", help="what clients call the model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=18090)
    parser.add_argument("--engine-python", default=sys.executable, help="the Python of the environment with vLLM")
    parser.add_argument("--num-gpus", type=int, default=0, help="per replica, and vLLM's tensor parallel size; 0: CPU")
    parser.add_argument("--num-cpus", type=float, default=1, help="that Ray sets aside per replica")
    parser.add_argument("--threads", type=int, default=1, help="of an engine on the CPU")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--slots", type=int, default=2, help="requests that a replica answers at the same time")
    parser.add_argument("--waiting", type=int, default=16, help="requests that may wait for a slot of a replica")
    parser.add_argument("--max-model-len", type=int, default=2048, help="tokens of a request with its answer")
    parser.add_argument("--start-seconds", type=float, default=900, help="that vLLM may take to become healthy")
    parser.add_argument("--address", help="of a Ray cluster that exists; without it, a local Ray")
    cut = words.index("--") if "--" in words else len(words)
    return parser.parse_args(words[:cut], argparse.Namespace(extra=words[cut + 1:]))


def _stop(*_: object) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # an end that was begun is not cut short
    raise SystemExit


def main() -> None:
    given = parse(sys.argv[1:])
    os.environ["RAY_AUTH_MODE"] = "token"
    if not given.address and not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    os.environ["RAY_DISABLE_FAILURE_SIGNAL_HANDLER"] = "1"  # it would abort this process on SIGTERM
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

    import ray
    from ray import serve
    from replica import Model

    local: dict[str, Any] = {} if given.address else {"include_dashboard": False}
    ray.init(address=given.address or "local", namespace="serve", log_to_driver=False,
             runtime_env={"working_dir": str(Path(__file__).parent)}, **local)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)  # after ray.init, which takes SIGTERM for itself
    try:
        serve.start(http_options={"host": given.host, "port": given.port})
        deployment = serve.deployment(
            Model, name="model", num_replicas=given.replicas, health_check_period_s=5, graceful_shutdown_timeout_s=30,
            max_ongoing_requests=2 * (given.slots + given.waiting),  # the relay refuses sooner, and says why
            ray_actor_options={"num_cpus": given.num_cpus, "num_gpus": given.num_gpus})
        serve.run(deployment.bind(given), name=APPLICATION, route_prefix="/")
        print(f"http://{given.host}:{given.port}/v1", flush=True)
        threading.Event().wait()
    finally:
        if given.address:
            serve.delete(APPLICATION)
        else:
            serve.shutdown()
        ray.shutdown()


if __name__ == "__main__":
    main()
