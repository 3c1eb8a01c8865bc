"""Shards: the cut loses and changes nothing, and any number of workers gives the same document."""

import gzip
import random
import subprocess
import sys
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.batch import COLUMNS, Accounting, Batch
from enlist.tools.logs.counting import Options
from enlist.tools.logs.framing import batches
from enlist.tools.logs.reading import found, read
from enlist.tools.logs.report.document import document
from enlist.tools.logs.shards import shards, spread

BEGIN = datetime(2026, 3, 4, 5, tzinfo=UTC)


def stamp(second: float) -> str:
    return (BEGIN + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain files with stack traces, a rotated log that ends within a record, syslog without years, an archive."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = random.Random(8)
    api, db = [], []
    for i in range(2400):
        bad = 1200 <= i < 1560
        took = rng.randrange(5, 40) * (20 if bad else 1)
        api.append(f"{stamp(i)} INFO request {rng.randrange(10**6)} took {took} ms")
        if bad and rng.random() < 0.5:
            api.append(f"{stamp(i)} ERROR call to db failed: timeout after 5000 ms\njava.net.TimeoutException: db\n"
                       "no indent and no time here\n\tat a.B.run(B.java:10)\n\nCaused by: java.io.IOException: x")
            db.append(f"{BEGIN + timedelta(seconds=i):%b %d %H:%M:%S} box db[7]: waiting for lock {i}")
    (folder / "api.log").write_text("\n".join(api))
    (folder / "db.log").write_text("\n".join(db) + "\n")
    with gzip.open(folder / "web.log.1.gz", "wt") as old:
        old.write("".join(f"{stamp(i)} INFO page {i}\n" for i in range(500)) + f"{stamp(500)} ERROR lost\n  at one\n")
    (folder / "web.log").write_text("  at two\n" + "".join(f"{stamp(501 + i)} INFO page {i}\n" for i in range(500)))
    (folder / "more.log").write_text("".join(f'{{"time":"{stamp(i)}","msg":"job {i} done"}}\n' for i in range(900)))
    with tarfile.open(folder / "more.tgz", "w:gz") as archive:
        archive.add(folder / "more.log", "inner.log")
    return folder


def records(made: list[Batch]) -> list[tuple[Any, ...]]:
    return sorted((b.source.name, *(str(getattr(b, c)[i]) for c in COLUMNS)) for b in made for i in range(len(b)))


@pytest.mark.parametrize("size", [1 << 14, 1 << 16])
def test_shards_give_the_records_that_reading_in_one_go_gives(size: int, logs: Path) -> None:
    options, whole, apart = Options(), Accounting(), Accounting()
    every = found([logs], whole, options.limits)
    want = records(list(batches(read(every, whole, options.limits), whole)))
    cut = shards(every, size=size)
    assert sum(s.middle for s in cut) >= 1
    got = [b for s in cut for b in batches(read(s.every, apart, options.limits, s.numbers), apart, timed=s.middle)]
    assert records(got) == want
    assert apart.by_category == whole.by_category and apart.bytes_read == whole.bytes_read


def answer(folder: Path, workers: int = 1) -> dict[str, Any]:
    made = document(analyse([folder], workers=workers))
    del made["cost"]
    return made


def test_the_answer_does_not_depend_on_the_size_of_shards(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = answer(logs)
    assert want["incident"]
    monkeypatch.setattr("enlist.tools.logs.counting.SHARD", 1 << 14)
    assert answer(logs) == want


@pytest.mark.parametrize("count", [1, 2, 5, 16, 37])
def test_every_begin_of_the_spread_order_covers_the_whole(count: int, logs: Path) -> None:
    some = shards(found([logs], Accounting(), Options().limits), size=1 << 13)[:count]
    order = [some.index(one) for one in spread(some)]
    assert sorted(order) == list(range(len(some)))
    for n in range(2, len(order) + 1):
        seen = sorted(order[:n])
        assert max(b - a for a, b in zip(seen, [*seen[1:], len(some)], strict=True)) <= 4 * -(-len(some) // n)


def test_a_reading_cut_short_says_what_share_was_read(logs: Path) -> None:
    made = analyse([logs], budget=0.0)
    said = [n["text"] for n in made.account.notes if "was read in the time given" in n["text"]]
    assert len(said) == 1 and made.account.lines_read > 0
    assert not any("time given" in n["text"] for n in analyse([logs], budget=1e6).account.notes)


WORKERS = """
import json, sys
from pathlib import Path
from enlist.orchestrator.cluster import Connection
from enlist.tools.logs import counting
from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.report.document import document
counting.SHARD = 1 << 16
connection = Connection(Path(sys.argv[2]), "", "token")
connection.ready()
for workers in (1, 2, 3):
    made = document(analyse([sys.argv[1]], workers=workers))
    del made["cost"]
    print(json.dumps(made, sort_keys=True))
connection.close()
"""


@pytest.mark.cluster
def test_one_two_and_three_workers_give_the_same_document(logs: Path, tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", WORKERS, str(logs), str(tmp_path / "home")], capture_output=True,
                           text=True, check=True)
    one, two, three = ended.stdout.splitlines()
    assert one == two == three and '"incident": true' in one
