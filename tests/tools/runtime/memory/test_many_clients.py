"""Fifty writing clients at once: none loses a commit, and the numbers have no gap."""

from pathlib import Path

import pytest

from enlist.tools.runtime.memory.conformance_processes import check_writing_processes_lose_nothing
from enlist.tools.runtime.memory.sqlite import SqliteMemory


@pytest.mark.slow  # fifty processes
def test_fifty_writing_processes_lose_nothing(tmp_path: Path) -> None:
    check_writing_processes_lose_nothing(lambda: SqliteMemory(tmp_path / "store.db"), processes=50, commits=20)
