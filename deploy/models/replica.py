"""One replica of the deployment: a vLLM process, its keeper, and the relay before it.

Apart from `serve_vllm.py`, so that Ray imports it on the node where it runs instead of sending it along.
"""

import argparse
from typing import Any

from engine import Engine
from relay import Relay
from starlette.responses import Response
from vllm_command import command, environment


class _Passed(Response):
    """Serve calls a Response with the connection, which is what the relay needs."""

    def __init__(self, relay: Relay) -> None:
        super().__init__()
        self._relay = relay

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._relay(scope, receive, send)


class Model:
    """One replica: an engine and the relay before it."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._engine = Engine(lambda port: command(given, port), environment(given), given.start_seconds)
        self._engine.start()
        self._relay = Relay(self._engine, given.slots, given.waiting)

    async def __call__(self, request: Any) -> Response:
        return _Passed(self._relay)

    def check_health(self) -> None:
        """Serve replaces the replica when this raises."""
        if self._engine.broken:
            raise RuntimeError(self._engine.broken)

    def __del__(self) -> None:
        self._engine.stop()
