"""A database connection that threads take in turn and that a forked process makes anew."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> None: ...


Connection = TypeVar("Connection", bound=_Closable)
_INHERITED: list[Any] = []
"""Connections that a fork brought along. Closing one in the child would tidy away the parent's (SQLite's WAL, Postgres'
session), and so would forgetting it: they are kept until the process ends."""


class Link(Generic[Connection]):
    """One connection, made by `connect` at its first use, held by one thread at a time."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._reset()

    def _reset(self) -> None:
        self._pid, self._lock = os.getpid(), threading.RLock()
        self._connection: Connection | None = None

    @contextmanager
    def held(self) -> Iterator[Connection]:
        """The connection, for this thread alone."""
        if os.getpid() != self._pid:
            _INHERITED.append(self._connection)
            self._reset()
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection

    def close(self) -> None:
        """Close the connection; the next use makes another. In a forked child it is left to the parent."""
        if os.getpid() == self._pid:
            with self._lock:
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
