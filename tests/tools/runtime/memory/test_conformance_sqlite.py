"""The SQLite store holds what every store must hold."""

from collections.abc import Callable

import pytest

from enlist.tools.runtime.memory.conformance import CHECKS
from enlist.tools.runtime.memory.conformance_processes import PROCESS_CHECKS
from enlist.tools.runtime.memory.protocol import Memory


@pytest.mark.parametrize("check", [*CHECKS, *PROCESS_CHECKS], ids=lambda check: check.__name__)
def test_sqlite_passes(check: Callable[[Callable[[], Memory]], None], make_memory: Callable[[], Memory]) -> None:
    check(make_memory)
