"""A scripted endpoint over real sockets: each request takes the next step of the script and behaves as it says."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

Step = Callable[[socket.socket], None]


def send(connection: socket.socket, status: str, headers: dict[str, str], body: bytes) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode() + body)


def event(data: Any) -> bytes:
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def piece(text: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}}]})


USAGE = event({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}})
END = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
DONE = event(b"[DONE]")
STREAM = {"Content-Type": "text/event-stream"}


def says(text: str, *, usage: bool = True, each: int = 5) -> Step:
    """A good streamed answer, in pieces of a few characters."""
    def step(connection: socket.socket) -> None:
        pieces = [piece(text[i:i + each]) for i in range(0, len(text), each)]
        send(connection, "200 OK", STREAM, b"".join(pieces) + END + (USAGE if usage else b"") + DONE)
    return step


def status(code: int, headers: dict[str, str] | None = None, body: bytes = b'{"error": "no"}') -> Step:
    return lambda connection: send(connection, f"{code} X", {"Content-Type": "application/json",
                                                             "Content-Length": str(len(body)), **(headers or {})}, body)


def cut(text: str) -> Step:
    """Some of an answer, then the connection is closed without an end."""
    return lambda connection: send(connection, "200 OK", STREAM, piece(text))


def raw(body: bytes, content_type: str = "text/event-stream") -> Step:
    return lambda connection: send(connection, "200 OK", {"Content-Type": content_type}, body)


def silent(seconds: float) -> Step:
    """The request is read and nothing is answered."""
    return lambda connection: time.sleep(seconds)


def stalls(text: str, seconds: float) -> Step:
    """Half-open: some of an answer, then nothing, with the connection left open."""
    def step(connection: socket.socket) -> None:
        send(connection, "200 OK", STREAM, piece(text))
        time.sleep(seconds)
    return step


@dataclass
class FaultServer:
    """Serves the steps of `script` in turn, the last one for ever; `requests` are the bodies that came."""

    script: list[Step]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)

    def __enter__(self) -> "FaultServer":
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # ends the waiting accept
        self.socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            head, _, body = self._receive(connection).partition(b"\r\n\r\n")
            self.headers.append(head.decode())
            self.requests.append(json.loads(body))
            step = self.script[min(len(self.requests), len(self.script)) - 1]
            with suppress(OSError):  # the client may go away
                step(connection)

    @staticmethod
    def _receive(connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                      if line.startswith(b"content-length"))
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body
