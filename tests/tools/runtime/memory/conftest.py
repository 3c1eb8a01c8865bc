"""Stores for the tests of this folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.sqlite import SqliteMemory


@pytest.fixture
def make_memory(tmp_path: Path) -> Iterator[Callable[[], Memory]]:
    """Makes a new, empty SQLite store at each call."""
    made: list[SqliteMemory] = []

    def make() -> Memory:
        made.append(SqliteMemory(tmp_path / str(len(made)) / "store.db"))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.fixture
def memory(make_memory: Callable[[], Memory]) -> Memory:
    """One new SQLite store."""
    return make_memory()
