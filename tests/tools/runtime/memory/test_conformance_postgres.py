"""The Postgres store, on a real server of the test's own, holds what every store must hold."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.conformance import CHECKS, check_artifacts_are_kept_by_content, finding, note
from enlist.tools.runtime.memory.conformance_processes import PROCESS_CHECKS
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.postgres import PostgresMemory
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.retention import collect_garbage
from enlist.tools.runtime.memory.schema import POSTGRES_SCHEMA, Schema
from enlist.tools.runtime.memory.transaction import Transaction

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """A running server; gives the folder of its unix socket (it listens nowhere else)."""
    folder = Path(tempfile.mkdtemp(prefix="enlist-pg-"))
    folder.chmod(0o755)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["bash", "deploy/trial-postgres.sh", folder / "pg"], cwd=ROOT, stdout=log,
                                   stderr=log)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(address(folder / "pg", "postgres")).close()
                break
            except psycopg.OperationalError:
                assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
                time.sleep(0.1)
        yield folder / "pg"
    finally:
        process.send_signal(signal.SIGINT)  # fast shutdown
        process.wait(timeout=60)
        shutil.rmtree(folder)


def address(folder: Path, database: str) -> str:
    return f"postgresql://enlist@/{database}?host={folder}"


_NUMBERS = count()


@pytest.fixture
def make_postgres(server: Path, tmp_path: Path) -> Iterator[Callable[[], PostgresMemory]]:
    """Makes a store in a new database at each call."""
    made: list[PostgresMemory] = []

    def make() -> PostgresMemory:
        number = next(_NUMBERS)
        with psycopg.connect(address(server, "postgres"), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE store{number}".encode())
        made.append(PostgresMemory(address(server, f"store{number}"), tmp_path / f"artifacts{number}"))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.mark.parametrize("check", [*CHECKS, *PROCESS_CHECKS], ids=lambda check: check.__name__)
def test_postgres_passes(check: Callable[[Callable[[], Memory]], None],
                         make_postgres: Callable[[], Memory]) -> None:
    check(make_postgres)


def test_the_locator_opens_the_same_store_and_artifacts(make_postgres: Callable[[], Memory]) -> None:
    memory = make_postgres()
    memory.commit("a", 0, [note(n=1)])
    ref = memory.put_bytes(b"x", media_type="text/plain", name="x")
    again = open_memory(memory.locator())
    assert [event.data for event in again.events("a")] == [{"n": 1}]
    assert again.open_artifact(ref).read_bytes() == b"x"
    again.close()


def test_a_lost_connection_is_a_transient_fault_and_the_next_call_works(
        make_postgres: Callable[[], Memory], server: Path) -> None:
    memory = make_postgres()
    memory.commit("a", 0, [note()])
    with psycopg.connect(address(server, "postgres"), autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE datname LIKE 'store%' AND pid <> pg_backend_pid()")
    with pytest.raises(EnlistError) as caught:
        memory.commit("a", 0, [note()])
    assert (caught.value.code, caught.value.kind) == ("worker_died", "transient")
    assert memory.commit("a", 0, [note()]) == [2]


def test_artifacts_in_an_object_store_pass_too(make_postgres: Callable[[], Memory], s3: Any, tmp_path: Path) -> None:
    def make() -> Memory:
        dsn = make_postgres().locator().split("&artifacts")[0]
        return open_memory(f"{dsn}&artifacts={quote(s3.place(tmp_path.name), safe='')}")

    check_artifacts_are_kept_by_content(make)
    memory = make()
    used, unused = (memory.put_bytes(data, media_type="a/b", name="x") for data in (b"used", b"unused"))
    memory.commit("a", 0, [NewEvent(kind="run.finished")], [finding("f", artifact=used.model_dump())])
    s3.age(tmp_path.name, 1000)
    done = collect_garbage(memory, keep_runs=1, grace_s=500, dry_run=False)
    assert unused.sha256 in done.artifacts and used.sha256 not in done.artifacts
    again = open_memory(memory.locator())
    assert again.open_artifact(used).read_bytes() == b"used"


def changed(tx: Transaction) -> None:
    tx.rows("ALTER TABLE runs ADD COLUMN label TEXT")
    tx.rows("UPDATE runs SET label = run || '!'")


def newer(migrate: Callable[[Transaction], None] = changed) -> Schema:
    """The schema after the present one."""
    now = POSTGRES_SCHEMA.version
    return Schema(version=now + 1, statements=POSTGRES_SCHEMA.statements, migrations={now: migrate})


def fetch(memory: Memory, sql: str) -> list[Any]:
    with psycopg.connect(memory.locator().split("&artifacts")[0], autocommit=True) as admin:
        return admin.execute(sql.encode()).fetchall()


BACKUPS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'enlist_backup_%'"


def test_an_older_store_is_migrated_after_its_tables_were_copied(make_postgres: Callable[[], PostgresMemory]) -> None:
    memory = make_postgres()
    memory.commit("a", 0, [note(n=1)], [finding("f", "words")])
    dsn = memory.locator().split("&artifacts")[0]
    migrated = PostgresMemory(dsn, schema=newer())
    assert fetch(memory, "SELECT run, label FROM enlist.runs") == [("a", "a!")]
    assert [event.data for event in migrated.events("a")] == [{"n": 1}] and migrated.search("words")
    ((backup,),) = fetch(memory, BACKUPS)
    assert fetch(memory, f"SELECT run FROM {backup}.runs") == [("a",)]
    assert fetch(memory, f"SELECT version FROM {backup}.enlist_schema") == [(POSTGRES_SCHEMA.version,)]
    assert fetch(memory, f"SELECT COUNT(*) FROM {backup}.records") == [(1,)]
    PostgresMemory(dsn, schema=newer()).close()
    assert len(fetch(memory, BACKUPS)) == 1
    with pytest.raises(EnlistError) as caught:
        PostgresMemory(dsn)
    assert caught.value.code == "store_newer"


def test_a_migration_that_fails_leaves_the_store_as_it_was(make_postgres: Callable[[], PostgresMemory]) -> None:
    memory = make_postgres()
    memory.commit("a", 0, [note(n=1)])

    def fail(tx: Transaction) -> None:
        changed(tx)
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        PostgresMemory(memory.locator().split("&artifacts")[0], schema=newer(fail))
    assert fetch(memory, BACKUPS) == [] and fetch(memory, "SELECT version FROM enlist.enlist_schema") == [
        (POSTGRES_SCHEMA.version,)]
    assert memory.commit("a", 0, [note(n=2)]) == [2]


def test_a_store_with_a_live_run_is_not_migrated(make_postgres: Callable[[], PostgresMemory]) -> None:
    memory = make_postgres()
    memory.take_lease("live", this_owner(), 600)
    with pytest.raises(EnlistError, match="live") as caught:
        PostgresMemory(memory.locator().split("&artifacts")[0], schema=newer())
    assert caught.value.code == "lease_held" and fetch(memory, BACKUPS) == []
    memory.release_lease("live", 1)
    PostgresMemory(memory.locator().split("&artifacts")[0], schema=newer()).close()


def test_a_newer_store_is_refused(make_postgres: Callable[[], PostgresMemory], server: Path) -> None:
    memory = make_postgres()
    older = Schema(version=POSTGRES_SCHEMA.version - 1, statements=())
    with pytest.raises(EnlistError) as caught:
        PostgresMemory(memory.locator().split("&artifacts")[0], schema=older)
    assert caught.value.code == "store_newer"


def test_faults_of_the_address_are_told_without_the_password(server: Path) -> None:
    with pytest.raises(EnlistError) as caught:
        PostgresMemory(f"postgresql://enlist:secret@/absent?host={server}")
    assert caught.value.code == "bad_input" and "absent" in caught.value.sentence()
    assert "secret" not in caught.value.sentence()


def test_a_nul_in_an_id_is_a_bad_input(make_postgres: Callable[[], Memory]) -> None:
    memory = make_postgres()
    with pytest.raises(EnlistError) as caught:
        memory.commit("a", 0, [], [finding("f\0")])
    assert caught.value.code == "bad_input"
    memory.commit("a", 0, [], [finding("f", "text with a NUL \0 inside")])


def test_a_store_without_a_place_for_artifacts_says_how_to_name_one(make_postgres: Callable[[], Memory]) -> None:
    memory = PostgresMemory(make_postgres().locator().split("&artifacts")[0])
    with pytest.raises(EnlistError, match="ENLIST_ARTIFACTS"):
        memory.put_bytes(b"x", media_type="text/plain", name="x")
    memory.close()
