"""Memory in one SQLite file: the default, opened by any process of the machine at once.

WAL lets readers read while one writes. A writer takes the file's write lock at once (BEGIN IMMEDIATE) and waits
for it, so no transaction is lost to "database is locked"; `synchronous = FULL` makes a commit that was acknowledged
outlive the process and the power.
"""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import new_run_id
from enlist.tools.runtime.memory import schema as schemas
from enlist.tools.runtime.memory.keeping import ArtifactKeeping
from enlist.tools.runtime.memory.link import Link
from enlist.tools.runtime.memory.schema import SQLITE_SCHEMA, Schema
from enlist.tools.runtime.memory.sql import RECORD_COLUMNS, SqlMemory
from enlist.tools.runtime.memory.transaction import Row, Transaction

LOCK_WAIT_S = 30.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SqliteMemory(SqlMemory):
    """The store in the file `path`, made where it is absent.

    Args:
        path: the database file.
        artifacts: the folder of artifacts; None: `artifacts` beside the file.
        clock: seconds since 1970; leases expire by it.
        schema: the tables that this software knows.

    Raises `bad_input` (not a store, damaged, not writable), `store_newer`, `resource_limit` (disk full), `timeout`
    (another process held the write lock for `LOCK_WAIT_S`).
    """

    def __init__(self, path: Path, artifacts: Path | None = None, *, clock: Callable[[], float] = time.time,
                 schema: Schema = SQLITE_SCHEMA) -> None:
        self.path = path.absolute()
        self.artifacts = self.path.parent / "artifacts" if artifacts is None else artifacts.absolute()
        self._keeping: ArtifactKeeping
        super().__init__(ArtifactKeeping(self.artifacts), clock)
        self._writer = Link(lambda: _connect(self.path))
        self._reader = Link(lambda: _connect(self.path))  # so that reads never wait for a writer of this process
        with self._writing("") as tx:
            self._prepare(tx, schema)

    def _prepare(self, tx: Transaction, schema: Schema) -> None:
        tables = {row[0] for row in tx.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            schemas.create(tx, schema)
        elif "enlist_schema" not in tables:
            raise EnlistError("bad_input", "this SQLite file is not an Enlist store", given=str(self.path),
                              allowed="a store, or a path where no file is yet",
                              fix="name another file; this one was left as it is")
        else:
            found = schemas.refuse_newer(tx, schema, str(self.path))
            if found < schema.version:
                self._back_up(found)
                schemas.migrate(tx, schema, found)

    def _back_up(self, version: int) -> None:
        """Copy the store, as it was before the open transaction, beside it."""
        target = self.path.with_name(f"{self.path.name}.schema-{version}-{new_run_id()}.backup")
        unfinished = target.with_name(f".{target.name}.part")
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(unfinished)) as copy:
            source.backup(copy)
        os.replace(unfinished, target)

    @contextmanager
    def _writing(self, run: str) -> Iterator[Transaction]:
        with self._transaction(self._writer, "IMMEDIATE") as tx:
            yield tx

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        with self._transaction(self._reader, "DEFERRED") as tx:
            yield tx

    @contextmanager
    def _transaction(self, link: Link[sqlite3.Connection], mode: str) -> Iterator[Transaction]:
        with _translated(self.path), link.held() as connection:
            _patiently(lambda: connection.execute(f"BEGIN {mode}"))
            try:
                yield _Rows(connection)
                _patiently(lambda: connection.execute("COMMIT"))
            except BaseException:
                if connection.in_transaction:  # a full disk may have rolled it back already
                    connection.execute("ROLLBACK")
                raise

    def _now(self, tx: Transaction) -> float:
        return self._clock()

    def _index(self, tx: Transaction, number: int, text: str) -> None:
        tx.rows("INSERT INTO record_words (rowid, words) VALUES (?, ?)", number, text)

    def _unindex(self, tx: Transaction, where: str, *parameters: Any) -> None:
        tx.rows(f"DELETE FROM record_words WHERE rowid IN (SELECT number FROM records WHERE {where})", *parameters)

    def _found(self, tx: Transaction, words: list[list[str]], where: str, *parameters: Any) -> list[Row]:
        columns = ", ".join(f"records.{column}" for column in RECORD_COLUMNS.split(", "))
        match = " ".join('"' + " ".join(phrase) + '"' for phrase in words)  # blanks between phrases mean AND
        return tx.rows(f"SELECT {columns} FROM record_words JOIN records ON records.number = record_words.rowid "
                       f"WHERE record_words MATCH ? AND {where} ORDER BY rank, records.number LIMIT ?",
                       match, *parameters)

    def locator(self) -> str:
        return f"sqlite://{quote(str(self.path))}?artifacts={quote(str(self.artifacts), safe='')}"

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


class _Rows:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _patiently(act: Callable[[], object]) -> None:
    """Run `act`, again while the file is locked: SQLite's own wait does not cover switching to WAL or recovery."""
    until = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            act()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.001, 0.02))


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors as faults of the vocabulary."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary result code
        given = f"{path}: {error}"
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise EnlistError("bad_input", "the store is damaged or is not a store", given=given,
                              fix="put back a copy of it (*.backup beside it), or name another store with "
                                  "ENLIST_HOME; the file was left as it is") from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            raise EnlistError("bad_input", "the store cannot be opened for writing", given=given,
                              fix="make the folder writable, or name another with ENLIST_HOME") from error
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise EnlistError("resource_limit", "the store could not be written: disk full or failing", given=given,
                              fix="free some space and run again; what was committed before is kept") from error
        if code in _BUSY:
            raise EnlistError("timeout", f"another process kept the store locked for {LOCK_WAIT_S:.0f} s",
                              given=given, fix="end that process, then run again") from error
        raise
    except OSError as error:
        raise EnlistError("bad_input", "the folder of the store cannot be made", given=f"{path}: {error}",
                          fix="make it writable, or name another with ENLIST_HOME") from error
