"""The Postgres store, on a real server of the test's own, holds what every store must hold."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.conformance import CHECKS, finding, note
from enlist.tools.runtime.memory.conformance_processes import PROCESS_CHECKS
from enlist.tools.runtime.memory.postgres import PostgresMemory
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.schema import POSTGRES_SCHEMA, Schema

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
pytestmark = pytest.mark.postgres
UNPRIVILEGED = 65534  # `nobody`: initdb and postgres refuse to run as root


def program(name: str) -> str:
    """The path of a PostgreSQL program, on PATH or where Debian puts it."""
    found = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))]
    paths = [path for path in found if path]
    assert paths, f"{name} of PostgreSQL is not installed"
    return paths[-1]


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """A running server; gives the folder of its unix socket (it listens nowhere else)."""
    folder = Path(tempfile.mkdtemp(prefix="enlist-pg-"))
    drop: list[str] = []
    if os.getuid() == 0:
        os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
        drop = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]
    subprocess.run([*drop, program("initdb"), "-D", folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8",
                    "--locale=C"], check=True, capture_output=True, cwd=folder)
    process = subprocess.Popen([*drop, program("postgres"), "-D", folder / "data", "-k", folder, "-c",
                                "listen_addresses="], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(address(folder, "postgres")).close()
                break
            except psycopg.OperationalError:
                assert process.poll() is None and time.monotonic() < until, "the server did not start"
                time.sleep(0.1)
        yield folder
    finally:
        process.send_signal(signal.SIGINT)  # fast shutdown
        process.wait(timeout=60)
        shutil.rmtree(folder)


def address(folder: Path, database: str) -> str:
    return f"postgresql://tester@/{database}?host={folder}"


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


def test_a_newer_store_is_refused(make_postgres: Callable[[], PostgresMemory], server: Path) -> None:
    memory = make_postgres()
    older = Schema(version=POSTGRES_SCHEMA.version - 1, statements=())
    with pytest.raises(EnlistError) as caught:
        PostgresMemory(memory.locator().split("&artifacts")[0], schema=older)
    assert caught.value.code == "store_newer"


def test_faults_of_the_address_are_told_without_the_password(server: Path) -> None:
    with pytest.raises(EnlistError) as caught:
        PostgresMemory(f"postgresql://tester:secret@/absent?host={server}")
    assert caught.value.code == "bad_input" and "absent" in caught.value.sentence()
    assert "secret" not in caught.value.sentence()


def test_a_nul_in_an_id_is_a_bad_input(make_postgres: Callable[[], Memory]) -> None:
    memory = make_postgres()
    with pytest.raises(EnlistError) as caught:
        memory.commit("a", 0, [], [finding("f\0")])
    assert caught.value.code == "bad_input"
    memory.commit("a", 0, [], [finding("f", "text with a NUL \0 inside")])


def test_a_store_without_a_folder_says_that_it_needs_one(make_postgres: Callable[[], Memory], server: Path) -> None:
    memory = PostgresMemory(make_postgres().locator().split("&artifacts")[0])
    with pytest.raises(EnlistError, match="artifacts="):
        memory.put_bytes(b"x", media_type="text/plain", name="x")
    memory.close()
