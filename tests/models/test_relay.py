"""The relay before an engine, with an engine of a few lines: slots, the line, clients that leave, engines that die."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

PIECES = 200


@dataclass
class Engine:
    """An HTTP server that streams pieces as fast as they are taken, and sees when its client leaves."""

    starts: int = 1
    port: int = 0
    running: int = 0
    most: int = 0
    written: int = 0
    dies_after: int = PIECES
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self) -> str | None:
        return f"http://127.0.0.1:{self.port}" if self.port else None

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.running += 1
        self.most = max(self.most, self.running)
        left = asyncio.create_task(reader.read(-1))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            for number in range(PIECES):
                if number == 1:
                    await asyncio.wait({left, asyncio.create_task(self.go.wait())}, return_when="FIRST_COMPLETED")
                if (left.done() and not self.go.is_set()) or number == self.dies_after:
                    break
                piece = b"data: " + b"x" * 65536 + b"\n\n"
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
                self.written += 1
            else:
                writer.write(b"0\r\n\r\n")
        except ConnectionError:
            pass
        finally:
            self.running -= 1
            left.cancel()
            writer.close()


@dataclass
class Client:
    """One request to an ASGI application. `taking` is held back while it is not set; `leave` ends the connection."""

    heard: list[dict[str, Any]] = field(default_factory=list)
    taking: asyncio.Event = field(default_factory=asyncio.Event)
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    asked: bool = False

    async def receive(self) -> dict[str, Any]:
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": b"{}"}
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.heard.append(message)
        await self.taking.wait()

    @property
    def status(self) -> int:
        return int(self.heard[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.heard)


SCOPE = {"type": "http", "method": "POST", "path": "/v1/chat/completions"}


async def until(happened: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not happened():
            await asyncio.sleep(0.005)


def with_engine(story: Callable[[Engine], Awaitable[None]], **facts: Any) -> None:
    async def run() -> None:
        engine = Engine(**facts)
        server = await asyncio.start_server(engine.answer, "127.0.0.1", 0)
        engine.port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(60):
            await story(engine)
        server.close()

    asyncio.run(run())


def client(ready: bool = True) -> Client:
    made = Client()
    if ready:
        made.taking.set()
    return made


def test_an_answer_is_passed_on_whole(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        engine.go.set()
        one, app = client(), relay.Relay(engine, 2, 2)
        await app(SCOPE, one.receive, one.send)
        assert one.status == 200 and one.body.count(b"data: ") == PIECES and app.slots.held == 0
        assert one.heard[0]["headers"] == [(b"content-type", b"text/event-stream")]

    with_engine(story)


def test_no_more_requests_run_than_there_are_slots_and_who_finds_the_line_full_is_told_to_come_back(
        relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        app = relay.Relay(engine, 2, 1)
        waiting = [client() for _ in range(3)]
        tasks = [asyncio.create_task(app(SCOPE, one.receive, one.send)) for one in waiting]
        await until(lambda: engine.running == 2)
        late = client()
        await app(SCOPE, late.receive, late.send)
        assert late.status == 503 and (b"retry-after", b"5") in late.heard[0]["headers"]
        engine.go.set()
        await asyncio.gather(*tasks)
        assert [one.status for one in waiting] == [200, 200, 200] and engine.most == 2

    with_engine(story)


def test_a_client_that_leaves_frees_its_slot_and_the_engine_hears_of_it(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        app, one = relay.Relay(engine, 1, 0), client()
        task = asyncio.create_task(app(SCOPE, one.receive, one.send))
        await until(lambda: engine.running == 1 and len(one.heard) > 1)
        one.leave.set()
        await task
        assert app.slots.held == 0
        await until(lambda: engine.running == 0)
        engine.go.set()
        other = client()
        await app(SCOPE, other.receive, other.send)
        assert other.status == 200

    with_engine(story)


def test_a_client_that_leaves_the_line_gives_its_place_to_another(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        app, first, second, third = relay.Relay(engine, 1, 1), client(), client(), client()
        tasks = [asyncio.create_task(app(SCOPE, first.receive, first.send))]
        await until(lambda: engine.running == 1)
        waiting = asyncio.create_task(app(SCOPE, second.receive, second.send))
        await asyncio.sleep(0)
        second.leave.set()
        await waiting
        tasks.append(asyncio.create_task(app(SCOPE, third.receive, third.send)))
        engine.go.set()
        await asyncio.gather(*tasks)
        assert third.status == 200 and not second.heard

    with_engine(story)


def test_a_server_that_ends_a_request_frees_its_slot(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        app, one = relay.Relay(engine, 1, 0), client()
        task = asyncio.create_task(app(SCOPE, one.receive, one.send))
        await until(lambda: engine.running == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert app.slots.held == 0
        await until(lambda: engine.running == 0)

    with_engine(story)


def test_a_slow_reader_holds_the_engine_back(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        engine.go.set()
        app, slow = relay.Relay(engine, 1, 0), client(ready=False)
        task = asyncio.create_task(app(SCOPE, slow.receive, slow.send))
        await until(lambda: slow.heard)
        before = -1
        while before != engine.written:  # until what lies between engine and relay is full
            before = engine.written
            await asyncio.sleep(0.3)
        assert engine.written < PIECES
        slow.taking.set()
        await task
        assert engine.written == PIECES

    with_engine(story)


def test_an_engine_that_dies_in_mid_answer_leaves_an_answer_that_no_client_takes_for_whole(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        engine.go.set()
        app, one = relay.Relay(engine, 1, 0), client()
        await app(SCOPE, one.receive, one.send)
        last = one.body.split(b"\n\n")[-2].removeprefix(b"data: ")
        assert "died" in json.loads(last)["error"]["message"] and b"[DONE]" not in one.body
        assert app.slots.held == 0

    with_engine(story, dies_after=3)


def test_an_engine_that_is_not_there_is_worth_another_try(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        for port in (0, 1):  # still starting; died a moment ago
            engine.port, one = port, client()
            await relay.Relay(engine, 1, 0)(SCOPE, one.receive, one.send)
            assert one.status == 503 and (b"retry-after", b"5") in one.heard[0]["headers"]

    with_engine(story)


def test_only_the_paths_of_the_api_are_passed_on(relay: ModuleType) -> None:
    async def story(engine: Engine) -> None:
        one = client()
        await relay.Relay(engine, 1, 0)({**SCOPE, "path": "/v1/load_lora_adapter"}, one.receive, one.send)
        assert one.status == 404

    with_engine(story)
