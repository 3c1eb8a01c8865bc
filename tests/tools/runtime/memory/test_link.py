"""A connection across a fork: the child makes its own and leaves the parent's alone."""

import os
from pathlib import Path

from enlist.tools.runtime.memory.link import Link


class Recorded:
    """A connection that writes down who closes it."""

    def __init__(self, log: Path) -> None:
        self.log, self.maker = log, os.getpid()

    def close(self) -> None:
        with self.log.open("a") as file:
            file.write(f"{self.maker} closed by {os.getpid()}\n")


def test_a_child_neither_uses_nor_closes_the_connection_of_its_parent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    link = Link(lambda: Recorded(log))
    with link.held() as connection:
        assert connection.maker == os.getpid()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            link.close()
            with link.held() as connection:
                status = 0 if connection.maker == os.getpid() else 2
            link.close()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert log.read_text() == f"{child} closed by {child}\n"
    link.close()
    assert log.read_text().splitlines()[1:] == [f"{os.getpid()} closed by {os.getpid()}"]


def test_a_closed_link_connects_anew(tmp_path: Path) -> None:
    link = Link(lambda: Recorded(tmp_path / "log"))
    with link.held() as first, link.held() as nested:
        assert first is nested
    link.close()
    with link.held() as second:
        assert second is not first
