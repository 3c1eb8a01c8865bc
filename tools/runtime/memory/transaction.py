"""What the shared SQL logic needs of a database: rows for a statement, inside one transaction.

Statements are written once with `?` for parameters; the tables bear the same names in SQLite and in Postgres. Two
backends that ran two copies of the rules for leases and budgets would drift apart.
"""

import json
from collections.abc import Sequence
from typing import Any, Protocol

from enlist.tools.runtime.errors import EnlistError

Row = Sequence[Any]


class Transaction(Protocol):
    """An open transaction, or a connection that reads."""

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """Run a statement; its rows (none for a statement that returns none)."""


def stored_json(value: dict[str, Any]) -> str:
    """`value` as JSON in one spelling (sorted keys, ASCII escapes, so that NUL and lone surrogates of damaged logs are
    kept by every database); raises `bad_input` where it is not JSON, NaN and infinity included."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise EnlistError("bad_input", "data that cannot be stored as JSON", given=str(error)[:200],
                          allowed="objects, arrays, strings, finite numbers, true, false and null",
                          fix="convert the value before it is committed") from error
