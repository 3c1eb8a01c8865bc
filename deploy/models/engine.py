"""An inference server as a child process: started, watched, started again when it dies or hangs, ended with its tree.

One thread does all of it. The process runs under `guard.py`, so that nothing of it outlives its owner. An engine that
does not start three times in a row is broken and stays down: its owner asks `broken` and is replaced elsewhere.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

GUARD = Path(__file__).with_name("guard.py")
LOOK = 0.5  # seconds between two looks at the engine
KNOCK = 5.0  # seconds between two health checks
MISSES = 6  # checks in a row without an answer until the engine counts as hung
TRIES = 3  # starts in a row that may fail


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Guard:
    """A command under `guard.py`, which is a process of its own that lives no longer than this object's."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        started = subprocess.Popen([sys.executable, str(GUARD), *command], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=environment)
        assert started.stdin and started.stdout
        self._ours, self._theirs = started.stdin, started.stdout
        started.wait()  # the guard itself has left this process's children
        said = self._theirs.readline()
        if not said:
            raise OSError(f"no such program, or not to be run: {command[0]}")
        self._group = int(said)

    def ended(self, patience: float) -> bool:
        """Whether nothing is left of the command, after at most so many seconds."""
        return bool(select.select([self._theirs], [], [], patience)[0])

    def end(self) -> None:
        """End the command and all it started; returns when that is done."""
        self._ours.close()
        if self._theirs.read() != b"ended\n":  # someone killed the guard
            with suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGKILL)
        self._theirs.close()


@dataclass
class Engine:
    """`command(port)` is the server's command line; `start_s` seconds is how long it may take to become healthy."""

    command: Callable[[int], list[str]]
    environment: dict[str, str]
    start_s: float = 900.0
    starts: int = 0
    broken: str | None = None
    _url: str | None = None
    _guard: "Guard | None" = None
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
                self._guard = Guard(self.command(port), {**os.environ, **self.environment})
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
        assert self._guard is not None
        end = time.monotonic() + self.start_s
        while not self._guard.ended(LOOK) and time.monotonic() < end and not self._ending.is_set():
            if _healthy(url):
                return True
        return False

    def _watch(self) -> None:
        assert self._guard is not None and self._url is not None
        misses, knocked = 0, time.monotonic()
        while not self._guard.ended(LOOK) and misses < MISSES and not self._ending.is_set():
            if time.monotonic() - knocked >= KNOCK:
                misses = 0 if _healthy(self._url) else misses + 1
                knocked = time.monotonic()

    def _end_process(self) -> None:
        self._url = None
        if self._guard is not None:
            self._guard.end()
            self._guard = None


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=KNOCK).status_code == 200
    except httpx.HTTPError:
        return False
