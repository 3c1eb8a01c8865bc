"""Serve a GGUF file with llama.cpp at an OpenAI-compatible address, until SIGTERM or Ctrl-C.

Needs only `xllamacpp`. Threads are a setting, and one is the default: on a machine that others use, two threads of
llama.cpp wait for each other at every layer and get almost nowhere.
"""

import argparse
import signal
import threading
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a GGUF file")
    parser.add_argument("--name", default="model", help="what clients call the model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=18081)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=8192, help="tokens, shared by the slots")
    parser.add_argument("--slots", type=int, default=1, help="requests answered at the same time")
    given = parser.parse_args()
    if not given.model.is_file():
        parser.error(f"no such file: {given.model}; fetch_smollm2.py gets one")

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.model_alias = str(given.model), {given.name}
    settings.hostnames, settings.port = [given.host], given.port
    settings.n_ctx, settings.n_parallel = given.context, given.slots
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = given.threads
    settings.use_jinja = settings.offline = True
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = xllamacpp.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    ended.wait()


if __name__ == "__main__":
    main()
