"""Memory: the shared stores, and the only way in which agents talk.

One protocol, several backends (SQLite, Postgres, an actor that serves other nodes); every backend passes
`conformance.py`. Events and records are appended or inserted if absent and never changed; a correction supersedes.
All that one step produces is committed in one transaction, and a writer whose attempt is no longer the newest of its
run is refused with `stale_attempt`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.events import Event, NewEvent

RecordKind = Literal["request", "plan", "finding", "check", "outcome", "decision", "track", "snapshot", "report",
                     "checkpoint", "answer"]
BudgetKind = Literal["seconds", "tokens", "usd"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewRecord(_Strict):
    """A record to insert if absent. Unique by (kind, run, id): the same `data` again changes nothing, other `data` is a
    `conflict`. `text` is what full-text search reads."""

    kind: RecordKind
    id: str
    role: str | None = None
    data: dict[str, Any]
    text: str = ""
    supersedes: str | None = None


class Record(NewRecord):
    """A record as read back; `run` is "" for records that belong to no run (snapshots, track records)."""

    run: str
    attempt: int
    time: float


class Settlement(_Strict):
    """The end of a reservation: what was really spent for `key` (at least 0; may exceed what was reserved)."""

    kind: BudgetKind
    key: str
    amount: float = Field(ge=0)


class Owner(_Strict):
    """The process that holds a lease. `boot` and `started` tell a reused process id from the one that took it."""

    host: str
    boot: str
    pid: int
    started: float


class Lease(_Strict):
    """Who drives a run; `attempt` is the fence that every write carries."""

    run: str
    attempt: int
    owner: Owner
    expires: float
    released: bool


class BudgetState(_Strict):
    """One budget of a run: `limit` None means none was set; free = limit - reserved - spent."""

    kind: BudgetKind
    limit: float | None
    reserved: float
    spent: float


class Memory(Protocol):
    """What every store does. Times are seconds; methods are safe to call from several threads and processes."""

    def commit(self, run: str, attempt: int, events: Sequence[NewEvent], records: Sequence[NewRecord] = (),
               settle: Sequence[Settlement] = ()) -> list[int]:
        """Append events, insert records and settle reservations in one transaction.

        `run` may be "" with attempt 0 for records that belong to no run. Returns the `seq` of each event (of the
        earlier one where kind and key were there already). An event that exists already makes no change by itself,
        the rest of the commit still applies. Raises `stale_attempt`, `conflict`; after a raise nothing was written.
        """

    def events(self, run: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events with seq > `after`, in order."""

    def find_event(self, run: str, kind: str, key: str) -> Event | None:
        """The event with this kind and key, if any."""

    def records(self, kind: str, run: str | None = None, roles: Sequence[str] | None = None) -> list[Record]:
        """Records of one kind in order of insertion; of one run and of some roles where these are given."""

    def record(self, kind: str, run: str, id: str) -> Record | None:
        """One record, if there."""

    def search(self, text: str, kind: str | None = None, run: str | None = None, limit: int = 20) -> list[Record]:
        """Full-text search over `text`, best first; words are ANDed; punctuation and any script are harmless."""

    def take_lease(self, run: str, owner: Owner, ttl: float) -> Lease:
        """Become the driver of `run` with the next attempt number.

        A lease that was released, has expired, or whose owner is a dead process of this host and boot is taken over;
        a live one raises `lease_held` and names its owner."""

    def renew_lease(self, run: str, attempt: int, ttl: float) -> Lease:
        """Prolong a lease; raises `stale_attempt` where a newer attempt exists."""

    def release_lease(self, run: str, attempt: int) -> None:
        """Give the lease back; does nothing for an older attempt."""

    def lease(self, run: str) -> Lease | None:
        """The newest lease of a run, if any."""

    def set_budget(self, run: str, kind: BudgetKind, limit: float) -> None:
        """Set the limit of a budget once; setting it again to another value is a `conflict`."""

    def reserve(self, run: str, attempt: int, kind: BudgetKind, key: str, amount: float) -> None:
        """Set aside the worst case of a call, atomically; raises `budget_exhausted` (given: what is free) and reserves
        nothing where it does not fit. The same key again replaces nothing and raises nothing (a resumed call)."""

    def budget(self, run: str, kind: BudgetKind) -> BudgetState:
        """The state of one budget."""

    def runs(self, limit: int = 50) -> list[str]:
        """Ids of runs, newest first."""

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        """Keep an artifact."""

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        """Keep a copy of a file as an artifact."""

    def open_artifact(self, ref: ArtifactRef) -> Path:
        """A local file with an artifact's bytes, verified; `not_found` or `conflict` else. Not to be written to."""

    def forget_run(self, run: str) -> None:
        """Delete a run's events, records, budgets and leases; raises `lease_held` where its lease is live."""

    def forget_checkpoints(self, run: str, role: str | None = None) -> int:
        """Delete checkpoint records (a cache) of a run, of one role where given; returns how many."""

    def unused_artifacts(self, grace_s: float, forgotten: Sequence[str] = ()) -> list[tuple[str, int]]:
        """SHA-256 and bytes of the artifacts that no event or record mentions (those of the `forgotten` runs do not
        count) and that nobody has put in the last `grace_s` seconds: a run puts before it commits what refers to it."""

    def forget_artifacts(self, hashes: Sequence[str], grace_s: float) -> int:
        """Delete artifacts by hash, except such as were put in the last `grace_s` seconds; returns the bytes freed."""

    def locator(self) -> str:
        """A string from which `open_memory` opens the same store in another process."""

    def close(self) -> None:
        """Release what this object holds; the store stays."""
