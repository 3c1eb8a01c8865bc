"""Leases: who drives a run, and the fence that keeps a former driver from writing.

Each lease of a run has the next attempt number, and each write carries the attempt of its writer. The order of
attempts is their number, never a time. A lease ends by release, by expiry or by the death of its owner.
"""

import json
import math
from collections.abc import Callable

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Lease, Owner
from enlist.tools.runtime.memory.transaction import Row, Transaction

Alive = Callable[[Owner], bool | None]
_COLUMNS = "run, attempt, owner, expires, released"


def newest_lease(tx: Transaction, run: str) -> Lease | None:
    """The lease with the highest attempt."""
    rows = tx.rows(f"SELECT {_COLUMNS} FROM leases WHERE run = ? ORDER BY attempt DESC LIMIT 1", run)
    return _lease(rows[0]) if rows else None


def check_attempt(tx: Transaction, run: str, attempt: int) -> None:
    """Raise `stale_attempt` unless `attempt` is that of the newest lease (0 while there is none)."""
    newest = tx.rows("SELECT COALESCE(MAX(attempt), 0) FROM leases WHERE run = ?", run)[0][0]
    if attempt != newest:
        raise EnlistError("stale_attempt", f"run {run!r} is written by another attempt", given=f"attempt {attempt}",
                          allowed=f"attempt {newest}", fix="stop this writer, or take a lease of the run first")


def is_over(lease: Lease, now: float, alive: Alive) -> bool:
    """Whether a lease may be taken over."""
    return lease.released or lease.expires <= now or alive(lease.owner) is False


def take(tx: Transaction, run: str, owner: Owner, ttl: float, now: float, alive: Alive) -> Lease | None:
    """The next lease of `run` for `owner`, or None where a live one holds it.

    A lease never runs longer than its `ttl` from now: where the clock was set back it is shortened to that, so it
    cannot outlive a dead owner on another host by more.
    """
    _check_ttl(ttl)
    held = newest_lease(tx, run)
    if held is not None and not is_over(held, now, alive):
        tx.rows("UPDATE leases SET expires = ? + ttl WHERE run = ? AND attempt = ? AND expires > ? + ttl",
                now, run, held.attempt, now)
        return None
    lease = Lease(run=run, attempt=held.attempt + 1 if held else 1, owner=owner, expires=now + ttl, released=False)
    tx.rows("INSERT INTO leases (run, attempt, owner, expires, released, ttl) VALUES (?, ?, ?, ?, 0, ?)",
            run, lease.attempt, json.dumps(owner.model_dump()), lease.expires, float(ttl))
    return lease


def renew(tx: Transaction, run: str, attempt: int, ttl: float, now: float) -> Lease:
    """Prolong the newest lease; `stale_attempt` where it is another's or was given back."""
    _check_ttl(ttl)
    check_attempt(tx, run, attempt)
    held = newest_lease(tx, run)
    if held is None or held.released:
        raise EnlistError("stale_attempt", f"the lease of run {run!r} was given back", given=f"attempt {attempt}",
                          fix="take a new lease")
    tx.rows("UPDATE leases SET expires = ?, ttl = ? WHERE run = ? AND attempt = ?", now + ttl, float(ttl), run, attempt)
    return held.model_copy(update={"expires": now + ttl})


def held_error(lease: Lease, now: float) -> EnlistError:
    """The fault that names who holds a run."""
    owner = lease.owner
    return EnlistError("lease_held", f"run {lease.run!r} is alive in process {owner.pid} on {owner.host}",
                       given=f"attempt {lease.attempt}, its lease ends in {max(0.0, lease.expires - now):.0f} s",
                       fix="follow it with `enlist show`, stop it, or wait until its lease has ended")


def _check_ttl(ttl: float) -> None:
    if not (math.isfinite(ttl) and ttl > 0):
        raise EnlistError("bad_input", "a lease needs a length", given=f"{ttl} s", allowed="a positive number of "
                          "seconds")


def _lease(row: Row) -> Lease:
    run, attempt, owner, expires, released = row
    return Lease(run=run, attempt=attempt, owner=Owner.model_validate_json(owner), expires=expires,
                 released=bool(released))
