"""The SQLite store under bad luck: damaged files, full disks, forks, locks, clocks set back, other versions."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import sqlite as module
from enlist.tools.runtime.memory.conformance import finding, note
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.schema import SQLITE_SCHEMA, Schema
from enlist.tools.runtime.memory.sqlite import SqliteMemory
from enlist.tools.runtime.memory.transaction import Transaction


def fault_of(act: Callable[[], object]) -> EnlistError:
    with pytest.raises(EnlistError) as caught:
        act()
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "störe?.db"


def filled(path: Path, commits: int = 3) -> None:
    """Make a store with some events and records, and close it."""
    memory = SqliteMemory(path)
    for number in range(commits):
        memory.commit("a", 0, [note(n=number)], [finding(f"f{number}", "some words " * 50)])
    memory.close()


def run_python(script: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_commit_is_synced_in_wal_mode(path: Path) -> None:
    memory = SqliteMemory(path)
    with memory._writing("a") as tx:
        assert tx.rows("PRAGMA journal_mode") == [("wal",)]
        assert tx.rows("PRAGMA synchronous") == [(2,)]  # 2 is FULL in SQLite's manual


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("my thesis, the only copy\n" * 100)
    fault = fault_of(lambda: SqliteMemory(path))
    assert fault.code == "bad_input" and str(path) in fault.sentence()
    assert path.read_text() == "my thesis, the only copy\n" * 100


def test_a_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipes (name)")
    assert "not an Enlist store" in fault_of(lambda: SqliteMemory(path)).message
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_a_damaged_store_says_so(path: Path) -> None:
    filled(path, 100)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(100)  # behind the header
        file.write(b"\xff" * (size - 100))
    fault = fault_of(lambda: SqliteMemory(path).events("a"))
    assert fault.code == "bad_input" and "damaged" in fault.message


def test_a_full_disk_is_told_and_nothing_committed_is_lost(path: Path) -> None:
    filled(path)
    memory = SqliteMemory(path)
    with memory._writer.held() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # SQLite then fails as on a full disk
    fault = fault_of(lambda: memory.commit("a", 0, [note(text="x" * 100_000)]))
    assert fault.code == "resource_limit"
    assert [event.data["n"] for event in memory.events("a")] == [0, 1, 2]
    with memory._writer.held() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert memory.commit("a", 0, [note()]) == [4]


def test_a_write_that_the_system_refuses_is_told_and_nothing_committed_is_lost(path: Path) -> None:
    filled(path)
    script = """
import resource, sys
from pathlib import Path
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.conformance import note
from enlist.tools.runtime.memory.sqlite import SqliteMemory
memory = SqliteMemory(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    memory.commit("a", 0, [note(text="x" * 1_000_000)])
except EnlistError as error:
    print(error.code)
"""
    assert run_python(script, str(path)) == "resource_limit"
    assert [event.data["n"] for event in SqliteMemory(path).events("a")] == [0, 1, 2]


def test_a_read_only_folder_is_a_clear_fault() -> None:
    script = """
import os, sys
from pathlib import Path
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.sqlite import SqliteMemory
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
for path in (Path(sys.argv[1]) / "store.db", Path(sys.argv[1]) / "new" / "store.db"):
    try:
        SqliteMemory(path)
    except EnlistError as error:
        print(error.code, error.fix is not None)
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        assert run_python(script, folder) == "bad_input True\nbad_input True"


def test_a_writer_waits_for_another_process_that_holds_the_lock(path: Path) -> None:
    memory = SqliteMemory(path)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        release.start()
        assert memory.commit("a", 0, [note()]) == [1]
        release.join()


def test_a_lock_that_is_never_given_back_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteMemory(path).close()
    monkeypatch.setattr(module, "LOCK_WAIT_S", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        reader = SqliteMemory(path)
        other.execute("BEGIN IMMEDIATE")
        assert fault_of(lambda: reader.commit("a", 0, [note()])).code == "timeout"
        assert reader.events("a") == []  # reading goes on


def test_threads_share_a_store(path: Path) -> None:
    memory = SqliteMemory(path)
    threads = [threading.Thread(target=lambda: [memory.commit("a", 0, [note()]) for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in memory.events("a")] == list(range(1, 101))


def test_many_may_make_a_new_store_at_once(path: Path) -> None:
    ready, made = threading.Barrier(6), []

    def make() -> None:
        ready.wait()
        made.append(SqliteMemory(path).commit("a", 0, [note()])[0])

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [1, 2, 3, 4, 5, 6]


def test_a_forked_process_goes_on_with_a_connection_of_its_own(path: Path) -> None:
    memory = SqliteMemory(path)
    memory.commit("a", 0, [note(by="parent")])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            memory.commit("a", 0, [note(by="child")])
            memory.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    memory.commit("a", 0, [note(by="parent")])
    assert [event.data["by"] for event in memory.events("a")] == ["parent", "child", "parent"]


def test_what_is_forgotten_leaves_the_full_text_index_too(path: Path) -> None:
    filled(path)
    memory = SqliteMemory(path)
    memory.forget_run("a")
    with memory._reading() as tx:
        assert tx.rows("SELECT COUNT(*) FROM record_words") == [(0,)]


def test_a_lease_ends_by_our_clock(path: Path) -> None:
    now = [1000.0]
    memory = SqliteMemory(path, clock=lambda: now[0])
    elsewhere = this_owner().model_copy(update={"host": "another-host"})
    assert memory.take_lease("a", elsewhere, 60).expires == 1060
    now[0] = 1059.0
    assert fault_of(lambda: memory.take_lease("a", this_owner(), 60)).code == "lease_held"
    now[0] = 1060.0
    assert memory.take_lease("a", this_owner(), 60).attempt == 2


def test_a_clock_that_is_set_back_keeps_no_lease_longer_than_its_length(path: Path) -> None:
    now = [100_000.0]
    memory = SqliteMemory(path, clock=lambda: now[0])
    memory.take_lease("a", this_owner().model_copy(update={"host": "another-host"}), 60)
    now[0] = 50.0
    assert fault_of(lambda: memory.take_lease("a", this_owner(), 60)).code == "lease_held"
    now[0] = 50.0 + 59
    assert fault_of(lambda: memory.take_lease("a", this_owner(), 60)).code == "lease_held"
    now[0] = 50.0 + 60
    assert memory.take_lease("a", this_owner(), 60).attempt == 2


def test_a_clock_that_is_set_back_neither_keeps_a_dead_owner_nor_mixes_the_order(path: Path) -> None:
    now = [100_000.0]
    memory = SqliteMemory(path, clock=lambda: now[0])
    gone = subprocess.Popen(["true"])
    gone.wait()
    memory.take_lease("a", this_owner().model_copy(update={"pid": gone.pid}), 3600)
    memory.commit("a", 1, [note(n=1)], [finding("z")])
    now[0] = 1.0
    assert memory.take_lease("a", this_owner(), 60).attempt == 2
    memory.commit("a", 2, [note(n=2)], [finding("y")])
    memory.commit("b", 0, [note()])
    assert [event.data["n"] for event in memory.events("a")] == [1, 2]
    assert [record.id for record in memory.records("finding", "a")] == ["z", "y"]
    assert memory.runs() == ["b", "a"]


def add_colour(tx: Transaction) -> None:
    tx.rows("ALTER TABLE events ADD COLUMN colour TEXT")


NEXT = Schema(version=SQLITE_SCHEMA.version + 1, statements=(), migrations={SQLITE_SCHEMA.version: add_colour})


def test_an_older_store_is_migrated_after_a_copy_was_made(path: Path) -> None:
    filled(path)
    memory = SqliteMemory(path, schema=NEXT)
    assert [event.data["n"] for event in memory.events("a")] == [0, 1, 2]
    with memory._reading() as tx:
        assert tx.rows("SELECT colour FROM events") == [(None,)] * 3
        assert tx.rows("SELECT version FROM enlist_schema") == [(NEXT.version,)]
    memory.close()
    SqliteMemory(path, schema=NEXT).close()
    (copy,) = path.parent.glob("*.backup")  # opening it again made no second copy
    assert [event.data["n"] for event in SqliteMemory(copy).events("a")] == [0, 1, 2]
    assert fault_of(lambda: SqliteMemory(path)).code == "store_newer"


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    def fail(tx: Transaction) -> None:
        tx.rows("DELETE FROM events")
        raise RuntimeError("in the middle")

    filled(path)
    with pytest.raises(RuntimeError):
        SqliteMemory(path, schema=replace(NEXT, migrations={SQLITE_SCHEMA.version: fail}))
    assert len(SqliteMemory(path).events("a")) == 3


def test_a_newer_store_names_its_writer_and_the_way_out(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE enlist_schema SET version = 99, written_by = 'enlist 7.3'")
    fault = fault_of(lambda: SqliteMemory(path))
    assert fault.code == "store_newer" and "enlist 7.3" in fault.sentence() and "upgrade" in fault.sentence()


def test_reading_does_not_wait_for_a_writer_of_the_same_process(path: Path) -> None:
    memory = SqliteMemory(path)
    memory.commit("a", 0, [note()])
    seen: list[int] = []
    with memory._writing("a"):
        reader = threading.Thread(target=lambda: seen.append(len(memory.events("a"))))
        reader.start()
        reader.join(timeout=30)
        assert seen == [1]


def test_times_are_those_of_the_writers_clock(path: Path) -> None:
    before = time.time()
    memory = SqliteMemory(path)
    memory.commit("a", 0, [note()])
    assert before <= memory.events("a")[0].time <= time.time()
