"""An inference server as a child process: started, watched, started again when it dies or hangs, ended with its tree.

One thread does all of it. The process runs under `guard.py`, so that nothing of it outlives its owner. An engine that
does not start three times in a row is broken and stays down: its owner asks `broken` and is replaced elsewhere.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

GUARD = Path(__file__).with_name("guard.py")
LOOK = 0.5  # seconds between two looks at the process
KNOCK = 5.0  # seconds between two health checks
MISSES = 6  # checks in a row without an answer until the engine counts as hung
TRIES = 3  # starts in a row that may fail


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Engine:
    """`command(port)` is the server's command line; `start_s` seconds is how long it may take to become healthy."""

    command: Callable[[int], list[str]]
    environment: dict[str, str]
    start_s: float = 900.0
    starts: int = 0
    broken: str | None = None
    _url: str | None = None
    _process: "subprocess.Popen[bytes] | None" = None
    _ending: threading.Event = field(default_factory=threading.Event)
    _settled: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, and return when the engine answers.

        Raises:
            RuntimeError: it does not start.
        """
        self._thread = threading.Thread(target=self._keep, name="engine", daemon=True)
        self._thread.start()
        self._settled.wait()
        if self.broken:
            raise RuntimeError(self.broken)

    def url(self) -> str | None:
        """Where it answers; None while it starts."""
        return self._url

    def stop(self) -> None:
        """End it and everything it started; returns when that is done."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def _keep(self) -> None:
        failed = 0
        try:
            while not self._ending.is_set() and failed < TRIES:
                port = free_port()
                self._process = subprocess.Popen(
                    [sys.executable, str(GUARD), *self.command(port)], stdin=subprocess.PIPE,
                    env={**os.environ, **self.environment})
                self.starts += 1
                if self._becomes_healthy(f"http://127.0.0.1:{port}"):
                    failed, self._url = 0, f"http://127.0.0.1:{port}"
                    self._settled.set()
                    self._watch()
                elif not self._ending.is_set():
                    failed += 1
                self._end_process()
            if failed:
                self.broken = f"the engine did not start {failed} times in a row: {' '.join(self.command(0))}"
        except OSError as error:
            self.broken = f"the engine cannot be started: {error}"
        finally:
            self._settled.set()

    def _becomes_healthy(self, url: str) -> bool:
        assert self._process is not None
        end = time.monotonic() + self.start_s
        while self._process.poll() is None and time.monotonic() < end and not self._ending.wait(LOOK):
            if _healthy(url):
                return True
        return False

    def _watch(self) -> None:
        assert self._process is not None and self._url is not None
        misses, knocked = 0, time.monotonic()
        while self._process.poll() is None and misses < MISSES and not self._ending.wait(LOOK):
            if time.monotonic() - knocked >= KNOCK:
                misses = 0 if _healthy(self._url) else misses + 1
                knocked = time.monotonic()

    def _end_process(self) -> None:
        self._url = None
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()  # the guard's sign to end everything
            self._process.wait()
            self._process = None


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=KNOCK).status_code == 200
    except httpx.HTTPError:
        return False
