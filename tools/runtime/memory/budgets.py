"""Budgets: the worst case of a call is reserved before it, what it really cost is settled after it.

Free = limit - reserved - spent is read and the reservation written in one transaction, so that parallel callers cannot
overspend. A reservation is known by its key: a resumed call finds the one that it made before.
"""

import math
from typing import get_args

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import BudgetKind, BudgetState, Settlement
from enlist.tools.runtime.memory.transaction import Transaction

ROUNDING = 1e-9
"""Relative slack: ten reservations of 0.1 fit into 1.0, whose floating-point sum may lie an ulp above it."""


def state(tx: Transaction, run: str, kind: BudgetKind) -> BudgetState:
    """One budget's limit, what is reserved and not settled, and what is spent."""
    _check_kind(kind)
    limits = tx.rows("SELECT amount FROM budgets WHERE run = ? AND kind = ?", run, kind)
    rows = tx.rows("SELECT amount, spent FROM reservations WHERE run = ? AND kind = ?", run, kind)
    return BudgetState(kind=kind, limit=limits[0][0] if limits else None,
                       reserved=math.fsum(amount for amount, spent in rows if spent is None),
                       spent=math.fsum(spent for _, spent in rows if spent is not None))


def set_limit(tx: Transaction, run: str, kind: BudgetKind, limit: float) -> None:
    """Set the limit once."""
    _check_kind(kind)
    _check_amount(limit, "a budget")
    present = tx.rows("SELECT amount FROM budgets WHERE run = ? AND kind = ?", run, kind)
    if not present:
        tx.rows("INSERT INTO budgets (run, kind, amount) VALUES (?, ?, ?)", run, kind, float(limit))
    elif present[0][0] != limit:
        raise EnlistError("conflict", f"the {kind} budget of run {run!r} is set already", given=str(limit),
                          allowed=str(present[0][0]), fix="start a new run for another budget")


def reserve(tx: Transaction, run: str, kind: BudgetKind, key: str, amount: float) -> None:
    """Set `amount` aside, or raise `budget_exhausted`."""
    _check_amount(amount, "a reservation")
    if tx.rows("SELECT 1 FROM reservations WHERE run = ? AND kind = ? AND key = ?", run, kind, key):
        return
    now = state(tx, run, kind)
    if now.limit is not None:
        free = now.limit - now.reserved - now.spent
        if amount > free + ROUNDING * now.limit:
            raise EnlistError("budget_exhausted", f"the {kind} budget of run {run!r} has no room for {key!r}",
                              given=f"{amount:g} {kind} with {free:g} free of {now.limit:g}",
                              fix="give the run a larger budget")
    tx.rows("INSERT INTO reservations (run, kind, key, amount) VALUES (?, ?, ?, ?)", run, kind, key, float(amount))


def settle(tx: Transaction, run: str, end: Settlement) -> None:
    """Turn a reservation into what was spent; again with the same amount changes nothing."""
    _check_amount(end.amount, "a settlement")
    rows = tx.rows("SELECT spent FROM reservations WHERE run = ? AND kind = ? AND key = ?", run, end.kind, end.key)
    if not rows:
        tx.rows("INSERT INTO reservations (run, kind, key, amount, spent) VALUES (?, ?, ?, 0, ?)",
                run, end.kind, end.key, end.amount)
    elif rows[0][0] is None:
        tx.rows("UPDATE reservations SET spent = ? WHERE run = ? AND kind = ? AND key = ?",
                end.amount, run, end.kind, end.key)
    elif rows[0][0] != end.amount:
        raise EnlistError("conflict", f"{end.kind} of {end.key!r} in run {run!r} was settled before",
                          given=str(end.amount), allowed=str(rows[0][0]))


def _check_kind(kind: str) -> None:
    if kind not in get_args(BudgetKind):
        raise EnlistError("bad_input", "no such budget", given=kind, allowed=", ".join(get_args(BudgetKind)))


def _check_amount(amount: float, what: str) -> None:
    if not (math.isfinite(amount) and amount >= 0):
        raise EnlistError("bad_input", f"{what} must be a finite number, at least 0", given=str(amount))
