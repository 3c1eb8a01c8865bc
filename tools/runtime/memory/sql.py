"""Memory over SQL: every rule of the protocol once, for SQLite and for Postgres.

A backend gives a writing transaction per run (SQLite: the file's one writer; Postgres: a lock on the run), a way to
read, a clock and its full-text statement. Everything that must hold at once is read and written inside one transaction.
"""

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory import budgets, leases
from enlist.tools.runtime.memory.artifact_place import Keeping
from enlist.tools.runtime.memory.owner import owner_alive
from enlist.tools.runtime.memory.protocol import (
    BudgetKind,
    BudgetState,
    Lease,
    NewRecord,
    Owner,
    Record,
    Settlement,
)
from enlist.tools.runtime.memory.search_words import indexed, phrases
from enlist.tools.runtime.memory.transaction import Row, Transaction, stored_json

_EVENT = "run, seq, kind, role, key, data, attempt, time"
RECORD_COLUMNS = "kind, run, id, role, data, text, supersedes, attempt, time"
_HASH = re.compile("[0-9a-f]{64}")
_DELIVERIES_KEPT = 10_000  # answers to calls that may be repeated after a crash; a repeat follows within minutes


class SqlMemory(ABC):
    """The protocol `Memory`; see there for what each method promises."""

    def __init__(self, keeping: Keeping, clock: Callable[[], float] = time.time) -> None:
        self._keeping = keeping
        self._clock = clock

    @abstractmethod
    def _writing(self, run: str) -> AbstractContextManager[Transaction]:
        """A transaction that alone writes to `run`; rolled back where its body raises."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Transaction]:
        """A connection to read from."""

    @abstractmethod
    def _index(self, tx: Transaction, number: int, text: str) -> None:
        """Enter the words of a record's text into the full-text index."""

    @abstractmethod
    def _unindex(self, tx: Transaction, where: str, *parameters: Any) -> None:
        """Take the records that match `where` out of the full-text index."""

    @abstractmethod
    def _found(self, tx: Transaction, words: list[list[str]], where: str, *parameters: Any) -> list[Row]:
        """Records (RECORD_COLUMNS of table `records`) that hold every phrase, best first."""

    @abstractmethod
    def _now(self, tx: Transaction) -> float:
        """The clock that leases are measured by."""

    def commit(self, run: str, attempt: int, events: Sequence[NewEvent], records: Sequence[NewRecord] = (),
               settle: Sequence[Settlement] = (), *, token: str | None = None) -> list[int]:
        """As in the protocol. A repeated call with the same `token` gives the first one's answer and writes nothing."""
        if run == "" and (attempt != 0 or events or settle):
            raise EnlistError("bad_input", "only records can belong to no run", given=f"attempt {attempt}, "
                              f"{len(events)} events, {len(settle)} settlements", allowed="attempt 0 and records")
        with self._writing(run) as tx:
            answer = _delivered(tx, token)
            if answer is not None:
                return list(answer)
            if run:
                _register(tx, run)
                leases.check_attempt(tx, run, attempt)
            now = self._clock()
            sequence = self._append(tx, run, attempt, events, now)
            for record in records:
                self._insert(tx, run, attempt, record, now)
            for end in settle:
                budgets.settle(tx, run, end)
            _deliver(tx, token, sequence)
            return sequence

    def _append(self, tx: Transaction, run: str, attempt: int, events: Sequence[NewEvent], now: float) -> list[int]:
        last = tx.rows("SELECT COALESCE(MAX(seq), 0) FROM events WHERE run = ?", run)[0][0]
        sequence = []
        for event in events:
            earlier = [] if event.key is None else tx.rows(
                "SELECT seq FROM events WHERE run = ? AND kind = ? AND key = ?", run, event.kind, event.key)
            if not earlier:
                last += 1
                tx.rows(f"INSERT INTO events ({_EVENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", run, last, event.kind,
                        event.role, event.key, stored_json(event.data), attempt, now)
            sequence.append(earlier[0][0] if earlier else last)
        return sequence

    def _insert(self, tx: Transaction, run: str, attempt: int, record: NewRecord, now: float) -> None:
        data = stored_json(record.data)
        present = tx.rows("SELECT data FROM records WHERE kind = ? AND run = ? AND id = ?", record.kind, run, record.id)
        if present:
            if present[0][0] != data:
                raise EnlistError("conflict", f"{record.kind} {record.id!r} was written before with other content",
                                  given=data[:200], allowed=present[0][0][:200],
                                  fix="insert a new record that names the old one in `supersedes`")
            return
        text = record.text.replace("\0", " ")  # Postgres holds no NUL
        number = tx.rows(f"INSERT INTO records ({RECORD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
                         record.kind, run, record.id, record.role, data, text, record.supersedes, attempt, now)[0][0]
        if text_words := indexed(text):
            self._index(tx, number, text_words)

    def events(self, run: str, after: int = 0, limit: int | None = None) -> list[Event]:
        sql, parameters = f"SELECT {_EVENT} FROM events WHERE run = ? AND seq > ? ORDER BY seq", [run, after]
        if limit is not None:
            sql, parameters = sql + " LIMIT ?", [*parameters, limit]
        with self._reading() as tx:
            return [_event(row) for row in tx.rows(sql, *parameters)]

    def find_event(self, run: str, kind: str, key: str) -> Event | None:
        with self._reading() as tx:
            rows = tx.rows(f"SELECT {_EVENT} FROM events WHERE run = ? AND kind = ? AND key = ?", run, kind, key)
        return _event(rows[0]) if rows else None

    def records(self, kind: str, run: str | None = None, roles: Sequence[str] | None = None) -> list[Record]:
        where, parameters = _filter(kind=kind, run=run)
        if roles is not None:
            if not roles:
                return []
            where += f" AND role IN ({', '.join('?' * len(roles))})"
            parameters += roles
        with self._reading() as tx:
            return [_record(row) for row in tx.rows(
                f"SELECT {RECORD_COLUMNS} FROM records WHERE {where} ORDER BY number", *parameters)]

    def record(self, kind: str, run: str, id: str) -> Record | None:
        with self._reading() as tx:
            rows = tx.rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE kind = ? AND run = ? AND id = ?", kind, run, id)
        return _record(rows[0]) if rows else None

    def search(self, text: str, kind: str | None = None, run: str | None = None, limit: int = 20) -> list[Record]:
        wanted = phrases(text)
        if not wanted:
            return []
        where, parameters = _filter(kind=kind, run=run)
        with self._reading() as tx:
            return [_record(row) for row in self._found(tx, wanted, where, *parameters, limit)]

    def take_lease(self, run: str, owner: Owner, ttl: float, *, dead: Owner | None = None,
                   token: str | None = None) -> Lease:
        """As in the protocol; `dead` is an owner that the caller, on its own host, saw to be dead."""
        def alive(held: Owner) -> bool | None:
            return False if held == dead else owner_alive(held)

        with self._writing(run) as tx:
            answer = _delivered(tx, token)
            if answer is not None:
                return Lease.model_validate(answer)
            _register(tx, run)
            now = self._now(tx)
            lease = leases.take(tx, run, owner, ttl, now, alive)
            held = leases.newest_lease(tx, run) if lease is None else None
            if lease is not None:
                _deliver(tx, token, lease.model_dump())
        if lease is None:
            assert held is not None
            raise leases.held_error(held, now)
        return lease

    def renew_lease(self, run: str, attempt: int, ttl: float) -> Lease:
        with self._writing(run) as tx:
            return leases.renew(tx, run, attempt, ttl, self._now(tx))

    def release_lease(self, run: str, attempt: int) -> None:
        with self._writing(run) as tx:
            tx.rows("UPDATE leases SET released = 1 WHERE run = ? AND attempt = ?", run, attempt)

    def lease(self, run: str) -> Lease | None:
        with self._reading() as tx:
            return leases.newest_lease(tx, run)

    def set_budget(self, run: str, kind: BudgetKind, limit: float) -> None:
        with self._writing(run) as tx:
            _register(tx, run)
            budgets.set_limit(tx, run, kind, limit)

    def reserve(self, run: str, attempt: int, kind: BudgetKind, key: str, amount: float) -> None:
        with self._writing(run) as tx:
            leases.check_attempt(tx, run, attempt)
            budgets.reserve(tx, run, kind, key, amount)

    def budget(self, run: str, kind: BudgetKind) -> BudgetState:
        with self._reading() as tx:
            return budgets.state(tx, run, kind)

    def runs(self, limit: int = 50) -> list[str]:
        with self._reading() as tx:
            return [row[0] for row in tx.rows("SELECT run FROM runs ORDER BY number DESC LIMIT ?", limit)]

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        return self._keeping.put_bytes(data, media_type=media_type, name=name)

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        return self._keeping.put_file(source, media_type=media_type, name=name)

    def open_artifact(self, ref: ArtifactRef) -> Path:
        return self._keeping.open(ref)

    def forget_run(self, run: str) -> None:
        with self._writing(run) as tx:
            now, held = self._now(tx), leases.newest_lease(tx, run)
            if held is not None and not leases.is_over(held, now, owner_alive):
                raise leases.held_error(held, now)
            self._unindex(tx, "run = ?", run)
            for table in ("events", "records", "leases", "budgets", "reservations", "runs"):
                tx.rows(f"DELETE FROM {table} WHERE run = ?", run)

    def forget_checkpoints(self, run: str, role: str | None = None) -> int:
        where, parameters = _filter(kind="checkpoint", run=run, role=role)
        with self._writing(run) as tx:
            self._unindex(tx, where, *parameters)
            count = tx.rows(f"SELECT COUNT(*) FROM records WHERE {where}", *parameters)[0][0]
            tx.rows(f"DELETE FROM records WHERE {where}", *parameters)
            return int(count)

    def unused_artifacts(self, grace_s: float, forgotten: Sequence[str] = ()) -> list[tuple[str, int]]:
        old = dict(self._keeping.old(grace_s))  # before the look at what is mentioned: later puts are young
        gone = set(forgotten)
        with self._reading() as tx:
            for table in ("events", "records"):
                for (run,) in tx.rows(f"SELECT DISTINCT run FROM {table}"):
                    rows = [] if run in gone else tx.rows(f"SELECT data FROM {table} WHERE run = ?", run)
                    for sha256 in _HASH.findall("\n".join(data for (data,) in rows)):
                        old.pop(sha256, None)
        return list(old.items())

    def forget_artifacts(self, hashes: Sequence[str], grace_s: float) -> int:
        self._keeping.sweep(grace_s)
        return sum(self._keeping.delete(sha256, grace_s) for sha256 in hashes)


def _register(tx: Transaction, run: str) -> None:
    if not run:
        raise EnlistError("bad_input", "a run needs an id", given="an empty string")
    tx.rows("INSERT INTO runs (run) VALUES (?) ON CONFLICT (run) DO NOTHING", run)


def _filter(**wanted: str | None) -> tuple[str, list[Any]]:
    """A condition on columns that equal what is not None."""
    given = {column: value for column, value in wanted.items() if value is not None}
    return " AND ".join(f"records.{column} = ?" for column in given) or "1 = 1", list(given.values())


def _delivered(tx: Transaction, token: str | None) -> Any:
    rows = [] if token is None else tx.rows("SELECT answer FROM deliveries WHERE token = ?", token)
    return json.loads(rows[0][0]) if rows else None


def _deliver(tx: Transaction, token: str | None, answer: Any) -> None:
    if token is not None:
        number = tx.rows("INSERT INTO deliveries (token, answer) VALUES (?, ?) RETURNING number", token,
                         json.dumps(answer))[0][0]
        tx.rows("DELETE FROM deliveries WHERE number <= ?", number - _DELIVERIES_KEPT)


def _event(row: Row) -> Event:
    run, seq, kind, role, key, data, attempt, moment = row
    return Event(run=run, seq=seq, kind=kind, role=role, key=key, data=json.loads(data), attempt=attempt, time=moment)


def _record(row: Row) -> Record:
    kind, run, id, role, data, text, supersedes, attempt, moment = row
    return Record(kind=kind, run=run, id=id, role=role, data=json.loads(data), text=text, supersedes=supersedes,
                  attempt=attempt, time=moment)
