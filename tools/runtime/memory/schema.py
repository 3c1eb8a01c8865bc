"""The tables of a store, their version, and how an older store becomes a current one.

The two dialects differ only in how a row number and the full-text index are spelled. A store of a newer version is
refused, an older one is migrated step by step, after it was copied (SQLite: the file, beside it; Postgres: the tables,
into a schema of their own).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.transaction import Transaction

_TABLES = """
CREATE TABLE enlist_schema (version INTEGER NOT NULL, written_by TEXT NOT NULL);
CREATE TABLE runs (number {number}, run TEXT NOT NULL UNIQUE);
CREATE TABLE events (run TEXT NOT NULL, seq BIGINT NOT NULL, kind TEXT NOT NULL, role TEXT, key TEXT,
    data TEXT NOT NULL, attempt BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL, PRIMARY KEY (run, seq));
CREATE UNIQUE INDEX events_by_key ON events (run, kind, key) WHERE key IS NOT NULL;
CREATE TABLE records (number {number}, kind TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL, role TEXT,
    data TEXT NOT NULL, text TEXT NOT NULL, supersedes TEXT, attempt BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL
    {words_column}, UNIQUE (kind, run, id));
CREATE INDEX records_by_run ON records (run, kind, number);
CREATE TABLE leases (run TEXT NOT NULL, attempt BIGINT NOT NULL, owner TEXT NOT NULL,
    expires DOUBLE PRECISION NOT NULL, released INTEGER NOT NULL, ttl DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run, attempt));
CREATE TABLE budgets (run TEXT NOT NULL, kind TEXT NOT NULL, amount DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run, kind));
CREATE TABLE reservations (run TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    amount DOUBLE PRECISION NOT NULL, spent DOUBLE PRECISION, PRIMARY KEY (run, kind, key));
CREATE TABLE deliveries (number {number}, token TEXT NOT NULL UNIQUE, answer TEXT NOT NULL);
{words_index}
"""

Migration = Callable[[Transaction], None]


@dataclass(frozen=True)
class Schema:
    """Version, statements that make an empty store, and the step from each older version to the next."""

    version: int
    statements: tuple[str, ...]
    migrations: Mapping[int, Migration] = field(default_factory=dict)


def _statements(**dialect: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _TABLES.format(**dialect).split(";") if part.strip())


SQLITE_SCHEMA = Schema(version=1, statements=_statements(
    number="INTEGER PRIMARY KEY AUTOINCREMENT", words_column="",
    words_index="CREATE VIRTUAL TABLE record_words USING fts5(words, tokenize = 'unicode61 remove_diacritics 0')"))
POSTGRES_SCHEMA = Schema(version=1, statements=_statements(
    number="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", words_column=", words TSVECTOR",
    words_index="CREATE INDEX record_words ON records USING GIN (words)"))


def create(tx: Transaction, schema: Schema) -> None:
    """Make the tables of an empty store."""
    for statement in schema.statements:
        tx.rows(statement)
    tx.rows("INSERT INTO enlist_schema (version, written_by) VALUES (?, ?)", schema.version, software())


def store_version(tx: Transaction) -> tuple[int, str]:
    """Version of a store and the software that last changed it."""
    found, written_by = tx.rows("SELECT version, written_by FROM enlist_schema")[0]
    return found, written_by


def refuse_newer(tx: Transaction, schema: Schema, where: str) -> int:
    """The store's version; `store_newer` where this software does not know it."""
    found, written_by = store_version(tx)
    if found > schema.version:
        raise EnlistError("store_newer", f"the store {where} was written by a newer Enlist",
                          given=f"schema {found}, written by {written_by}",
                          allowed=f"schema {schema.version} or older (this is {software()})",
                          fix="upgrade Enlist, or name another store with ENLIST_HOME")
    return found


def migrate(tx: Transaction, schema: Schema, found: int) -> None:
    """Run the steps from version `found` to the schema's."""
    for step in range(found, schema.version):
        schema.migrations[step](tx)
    tx.rows("UPDATE enlist_schema SET version = ?, written_by = ?", schema.version, software())


def software() -> str:
    """Name and version of what writes now."""
    try:
        return f"enlist {version('enlist')}"
    except PackageNotFoundError:
        return "enlist (not installed)"
