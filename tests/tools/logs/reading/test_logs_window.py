"""A window of a large sorted file is found without reading the rest, and gives the lines that reading it all gives."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.counting import Options, records, windowed
from enlist.tools.logs.reading import found

BEGIN = datetime(2026, 3, 4, tzinfo=UTC)
LINES = 60_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "app.log"
    stamps = ((BEGIN + timedelta(seconds=i)).strftime("%Y-%m-%dT%H:%M:%SZ") for i in range(LINES))
    path.write_text("".join(f"{stamp} INFO request {i} was served in full and well within its time, as is usual here\n"
                            for i, stamp in enumerate(stamps)))
    return path


def ns(seconds: int) -> int:
    return int((BEGIN + timedelta(seconds=seconds)).timestamp()) * 10**9


@pytest.mark.parametrize(("low", "high"), [(30_000, 30_600), (0, 50), (59_900, 70_000), (None, 100), (59_000, None),
                                           (-900, -100)])
def test_only_the_window_is_read_and_its_lines_keep_their_numbers(log: Path, low: int | None, high: int | None) -> None:
    options = Options(None if low is None else ns(low), None if high is None else ns(high))
    account = Accounting()
    every = [windowed(one, options) for one in found([log], account, options.limits)]
    got = {b.line[i]: b.byte[i] for b in records(every, account, options) for i in range(len(b))}
    inside = [i for i in range(LINES) if (low is None or i >= low) and (high is None or i <= high)]
    assert {i + 1 for i in inside} <= set(got)
    assert len(got) < len(inside) + 3000
    raw = log.read_bytes()
    assert all(raw[:byte].count(b"\n") == line - 1 for line, byte in list(got.items())[:5])


def test_the_analysis_says_what_it_left_unread(log: Path) -> None:
    made = analyse([log], Options(ns(30_000), ns(30_600)))
    assert any("outside the window" in n["text"] for n in made.account.notes)
    assert sum(one.total for one in made.series.values()) == 601


def test_a_file_out_of_order_is_read_whole(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    mixed = tmp_path / "mixed.log"
    mixed.write_text("".join(lines[30_000:] + lines[:30_000]))
    options = Options(ns(100), ns(200))
    assert windowed(found([mixed], Accounting(), options.limits)[0], options).part is None
    assert sum(one.total for one in analyse([mixed], options).series.values()) == 101
