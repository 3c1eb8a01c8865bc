"""Memory in a PostgreSQL database: for clusters, whose nodes share no disk.

Each writing transaction first takes an advisory lock on its run, so within a run events become visible in the order of
their numbers, and leases are measured by the server's clock, the same for all nodes. The tables lie in the schema
`enlist` of the database. A password belongs into PGPASSWORD or ~/.pgpass: the locator is handed to workers.

A store of an older schema is migrated when it is next opened, in one transaction that first copies its tables into a
schema `enlist_backup_...` of the same database: whoever opens a store may have no `pg_dump` and no disk for one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import new_run_id
from enlist.tools.runtime.memory import schema as schemas
from enlist.tools.runtime.memory.artifact_place import keeping_at
from enlist.tools.runtime.memory.link import Link
from enlist.tools.runtime.memory.schema import POSTGRES_SCHEMA, Schema
from enlist.tools.runtime.memory.sql import RECORD_COLUMNS, SqlMemory
from enlist.tools.runtime.memory.transaction import Row, Transaction

if TYPE_CHECKING:
    import psycopg

LOCK_WAIT_S = 30


class PostgresMemory(SqlMemory):
    """The store in the database `dsn` (a `postgresql://` address), its artifacts in a folder that all nodes see or in
    an object store (`artifacts`, see `artifact_place`).

    Raises `bad_input` (no such server or database, no right to it, a value that Postgres cannot hold), `not_installed`
    (the extra `postgres`), `store_newer`, `lease_held` (an older store with a live run), `worker_died` (the connection
    was lost: whether a commit that was under way arrived is not known), `timeout` (a lock was held for `LOCK_WAIT_S`),
    `resource_limit`.
    """

    def __init__(self, dsn: str, artifacts: str | Path | None = None, *,
                 schema: Schema = POSTGRES_SCHEMA) -> None:
        super().__init__(keeping_at(None if artifacts is None else str(artifacts)))
        self._dsn = dsn
        self._writer = Link(lambda: _connect(dsn))
        self._reader = Link(lambda: _connect(dsn))
        with self._writing("") as tx:
            if tx.rows("SELECT to_regclass('enlist.enlist_schema')")[0][0] is None:
                tx.rows("CREATE SCHEMA IF NOT EXISTS enlist")
                schemas.create(tx, schema)
            elif (found := schemas.refuse_newer(tx, schema, _shown(dsn))) < schema.version:
                self._refuse_while_live(tx)
                _back_up(tx, found)
                schemas.migrate(tx, schema, found)

    def _refuse_while_live(self, tx: Transaction) -> None:
        """Lock every table until the transaction ends, and raise `lease_held` where a run is under way: its processes
        would go on writing rows of the older schema."""
        tx.rows(f"LOCK TABLE {', '.join(_tables(tx))} IN ACCESS EXCLUSIVE MODE")
        live = tx.rows("SELECT run FROM leases WHERE released = 0 AND expires > ? LIMIT 3", self._now(tx))
        if live:
            raise EnlistError("lease_held", f"the store {_shown(self._dsn)} cannot be migrated while runs are live",
                              given=", ".join(run for (run,) in live),
                              fix="wait for them or `enlist stop` them with the Enlist that started them")

    @contextmanager
    def _writing(self, run: str) -> Iterator[Transaction]:
        with _translated(self._dsn, self._writer), self._writer.held() as connection, connection.transaction():
            tx = _Rows(connection)
            tx.rows("SELECT pg_advisory_xact_lock(hashtextextended('enlist ' || ?::text, 0))", run)
            yield tx

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        with _translated(self._dsn, self._reader), self._reader.held() as connection:
            yield _Rows(connection)

    def _now(self, tx: Transaction) -> float:
        return float(tx.rows("SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8")[0][0])

    def _index(self, tx: Transaction, number: int, text: str) -> None:
        tx.rows("UPDATE records SET words = to_tsvector('simple', ?) WHERE number = ?", text, number)

    def _unindex(self, tx: Transaction, where: str, *parameters: Any) -> None:
        """The words are a column of the record and go with it."""

    def _found(self, tx: Transaction, words: list[list[str]], where: str, *parameters: Any) -> list[Row]:
        query = " && ".join(["phraseto_tsquery('simple', ?)"] * len(words))
        return tx.rows(f"SELECT {RECORD_COLUMNS} FROM records, (SELECT {query} AS query) AS wanted "
                       f"WHERE words @@ query AND {where} ORDER BY ts_rank_cd(words, query) DESC, number LIMIT ?",
                       *(" ".join(phrase) for phrase in words), *parameters)

    def locator(self) -> str:
        if self._keeping.place is None:
            return self._dsn
        joint = "&" if "?" in self._dsn else "?"
        return f"{self._dsn}{joint}artifacts={quote(self._keeping.place, safe='')}"

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


def _tables(tx: Transaction) -> list[str]:
    return [name for (name,) in tx.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'enlist' ORDER BY 1")]


def _back_up(tx: Transaction, version: int) -> None:
    """Copy the tables, as they were before the open transaction changed them, into a schema of their own."""
    backup = f"enlist_backup_{version}_{new_run_id()}"
    tx.rows(f"CREATE SCHEMA {backup}")
    for table in _tables(tx):
        tx.rows(f"CREATE TABLE {backup}.{table} AS TABLE enlist.{table}")


class _Rows:
    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s").encode(), parameters)
        return cursor.fetchall() if cursor.description else []


def _connect(dsn: str) -> "psycopg.Connection[Any]":
    try:
        import psycopg
    except ImportError as error:
        raise EnlistError("not_installed", "the Postgres store needs psycopg", fix="pip install 'enlist[postgres]'"
                          ) from error
    try:
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        raise EnlistError("bad_input", "the Postgres server cannot be reached", given=f"{_shown(dsn)}: {error}",
                          fix="start the server, make the database, or mend the address") from error
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        connection.close()
        raise EnlistError("bad_input", "the database cannot hold every script", given=f"{_shown(dsn)}: {encoding}",
                          allowed="UTF8", fix="make the database with ENCODING 'UTF8'")
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute("SET search_path TO enlist")
    connection.execute("SET synchronous_commit TO on")  # a server may be set up to acknowledge before it has written
    connection.execute(f"SET lock_timeout TO '{LOCK_WAIT_S}s'".encode())
    return connection


def _shown(dsn: str) -> str:
    """The address without its options and password."""
    address = dsn.split("?", 1)[0]
    scheme, _, rest = address.partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}://{user.split(':', 1)[0]}{at}{host}"


@contextmanager
def _translated(dsn: str, link: "Link[psycopg.Connection[Any]]") -> Iterator[None]:
    """Postgres' errors as faults of the vocabulary."""
    try:
        yield
    except Exception as error:
        import psycopg

        if not isinstance(error, psycopg.Error):
            raise
        given = f"{_shown(dsn)}: {error}"
        state = error.sqlstate or ""  # Appendix A of the PostgreSQL manual
        if state == "55P03":
            raise EnlistError("timeout", f"another process kept the run locked for {LOCK_WAIT_S} s", given=given,
                              fix="end that process, then run again") from error
        if state.startswith("53"):
            raise EnlistError("resource_limit", "the Postgres server is out of resources", given=given,
                              fix="free space or connections there; what was committed before is kept") from error
        if state.startswith(("42501", "3D", "28")) or isinstance(error, psycopg.DataError):
            raise EnlistError("bad_input", "Postgres refused", given=given) from error
        if isinstance(error, psycopg.OperationalError):
            link.close()  # the next call connects anew
            raise EnlistError("worker_died", "the connection to Postgres was lost", given=given,
                              fix="run again; a commit that was under way may or may not have arrived") from error
        raise
