"""Following: what is written later is counted, over rotation and emptying, and the answer changes when it must."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enlist.tools.logs.analysis import Analysis
from enlist.tools.logs.counting import Options
from enlist.tools.logs.following import follow, verdict
from enlist.tools.runtime.errors import EnlistError

BEGIN = datetime(2026, 3, 4, 5, tzinfo=UTC)


def calm(first: int, count: int) -> str:
    return "".join(f"{BEGIN + timedelta(seconds=i):%Y-%m-%dT%H:%M:%SZ} INFO request {i} served\n"
                   for i in range(first, first + count))


def bad(first: int, count: int) -> str:
    return "".join(f"{BEGIN + timedelta(seconds=i):%Y-%m-%dT%H:%M:%SZ} ERROR cannot write: no space left on device\n"
                   for i in range(first, first + count) for _ in range(3))


def steps(*does: Callable[[], object]) -> Callable[[], bool]:
    left: Iterator[Callable[[], object]] = iter(does)

    def wait() -> bool:
        step = next(left, None)
        if step is not None:
            step()
        return step is not None

    return wait


def run(path: Path, *does: Callable[[], object]) -> list[Analysis]:
    return list(follow([path], Options(), steps(*does)))


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def test_the_answer_comes_again_when_it_changes_and_only_then(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(calm(0, 1200))
    made = run(path, lambda: append(path, calm(1200, 600)), lambda: append(path, bad(1800, 300)), lambda: None)
    assert len(made) >= 2 and made[0].incident.found is False and made[-1].incident.found is True
    assert len({verdict(one) for one in made}) == len(made)
    assert all(claim.verified for claim in made[-1].incident.claims)


def test_lines_before_and_after_a_rotation_are_all_counted_and_cited_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(calm(0, 1800))

    def rotate() -> None:
        append(path, bad(1800, 200))
        path.rename(tmp_path / "app.log.1")
        path.write_text(bad(2000, 100))

    made = run(path, rotate, lambda: None)[-1]
    assert made.account.lines_read == 1800 + 900 and made.incident.found
    assert all(claim.verified for claim in made.incident.claims)


def test_a_file_that_is_emptied_is_read_from_its_begin(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(calm(0, 1000))
    made = run(path, lambda: path.write_text(bad(1000, 100)), lambda: None)[-1]
    assert made.account.lines_read == 1300


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    whole = calm(0, 1000) + bad(1000, 100)
    path.write_text(whole[:-30])
    made = run(path, lambda: append(path, whole[-30:]), lambda: None)
    assert {one.account.lines_read for one in made} <= {1299, 1300}
    assert all("device" in text for text in made[-1].texts.values() if "write" in text)


def test_files_that_appear_in_a_folder_are_followed_too(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(calm(0, 1800))
    made = run(tmp_path, lambda: (tmp_path / "b.log").write_text(bad(900, 300)), lambda: None)[-1]
    assert made.account.lines_read == 2700 and made.incident.found


def test_a_pipe_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(EnlistError, match="cannot be followed"):
        next(follow(["-"], Options(), lambda: False))
