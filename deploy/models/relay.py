"""Pass requests on to an engine: so many at a time, so many in line, and not one longer than its client listens.

`Relay` is an ASGI application. A slot is held from the moment a request may go to the engine until its answer is sent,
fails, or its client goes away: then the connection to the engine is closed, at which vLLM stops generating, and the
slot is free. The next piece of an answer is read only when the one before was taken. Who comes when slots and line
are full, or while the engine starts, gets 503 with Retry-After at once.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/models")
LARGEST = 16 * 2**20  # bytes of a request
RETRY_AFTER_S = 5


class Full(Exception):
    """Neither a slot nor a place in the line is free."""


class Slots:
    """`running` requests at a time and `waiting` in line."""

    def __init__(self, running: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(running)
        self._room = running + waiting
        self.held = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a slot; raises Full instead of making the line longer."""
        if not self._room:
            raise Full
        self._room -= 1
        try:
            async with self._free:
                self.held += 1
                try:
                    yield
                finally:
                    self.held -= 1
        finally:
            self._room += 1


class Upstream(Protocol):
    """What a relay needs of an engine."""

    starts: int

    def url(self) -> str | None:
        """Where it answers; None while it starts."""


class Relay:
    """An ASGI application before one engine; `silence_s` is how long the engine may say nothing."""

    def __init__(self, engine: Upstream, running: int, waiting: int, silence_s: float = 600.0) -> None:
        self.engine, self.slots = engine, Slots(running, waiting)
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(silence_s, connect=5.0), trust_env=False,
                                         limits=httpx.Limits(max_connections=None, max_keepalive_connections=running))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"] == "/health":
            ready = self.engine.url() is not None
            await _say(send, 200 if ready else 503,
                       {"ready": ready, "slots_held": self.slots.held, "engine_starts": self.engine.starts})
            return
        if scope["path"] not in PATHS:
            await _refuse(send, 404, f"allowed: {', '.join(PATHS)}, /health")
            return
        body = await _body(receive)
        if body is None:
            await _refuse(send, 413, f"a request may have {LARGEST} bytes")
            return
        work = asyncio.create_task(self._forward(scope, body, send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _forward(self, scope: Message, body: bytes, send: Send) -> None:
        begun = False
        try:
            async with self.slots.one():
                if (url := self.engine.url()) is None:
                    await _refuse(send, 503, "the engine is starting")
                    return
                async with self._client.stream(scope["method"], url + scope["path"], content=body,
                                               headers={"content-type": "application/json"}) as answer:
                    kind = answer.headers.get("content-type", "application/json")
                    await send({"type": "http.response.start", "status": answer.status_code,
                                "headers": [(b"content-type", kind.encode())]})
                    begun = True
                    async for piece in answer.aiter_bytes():
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                    await send({"type": "http.response.body", "body": b""})
        except Full:
            await _refuse(send, 503, "every slot is taken and the line is full")
        except httpx.TransportError as error:
            if not begun:
                await _refuse(send, 503, f"the engine gave no answer: {type(error).__name__}")
                return
            told = json.dumps({"error": {"message": "the engine died in the middle of this answer", "code": 503}})
            await send({"type": "http.response.body", "body": f"data: {told}\n\n".encode()})  # and no [DONE]


async def _body(receive: Receive) -> bytes | None:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return body


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _say(send: Send, status: int, document: dict[str, Any]) -> None:
    wait = [(b"retry-after", str(RETRY_AFTER_S).encode())] if status == 503 else []
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", b"application/json"), *wait]})
    await send({"type": "http.response.body", "body": json.dumps(document).encode()})


async def _refuse(send: Send, status: int, why: str) -> None:
    await _say(send, status, {"error": {"message": why, "code": status}})
