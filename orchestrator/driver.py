"""The driver's hold on a run: a lease that is kept fresh, and the wish to end that a signal brings."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory

LEASE_SECONDS = 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Lease:
    """The lease of a run as a context: taken on entry, renewed by a thread, released on exit."""

    def __init__(self, memory: Memory, run: str) -> None:
        self.memory, self.run = memory, run
        self.attempt = 0
        self._end, self._lost = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def lost(self) -> bool:
        """Whether a newer attempt has taken the run over."""
        return self._lost.is_set()

    def __enter__(self) -> "Lease":
        self.attempt = self.memory.take_lease(self.run, this_owner(), LEASE_SECONDS).attempt
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()
        self.memory.release_lease(self.run, self.attempt)

    def _renew(self) -> None:
        while not self._end.wait(LEASE_SECONDS / 3):
            try:
                self.memory.renew_lease(self.run, self.attempt, LEASE_SECONDS)
            except EnlistError as error:
                if error.code == "stale_attempt":
                    self._lost.set()
                    return
                # a store that is busy for a moment: the lease has time for two more tries


class Interrupt:
    """SIGINT and SIGTERM as a wish to end in good order; a second one ends the process at once."""

    def __init__(self, say: Callable[[str], None] = lambda text: None) -> None:
        self._say, self._asked = say, threading.Event()
        self._before: dict[int, Any] = {}

    def asked(self) -> bool:
        return self._asked.is_set()

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt
        self._asked.set()
        self._say("stopping; the run can be resumed. Press Ctrl-C again to end at once.")
