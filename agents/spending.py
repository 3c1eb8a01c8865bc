"""What a role spends: tokens and dollars, reserved before and settled after, within the role's share of the budget.

The store keeps the run's limit (`memory.reserve`); an account keeps a role from eating what the roles after it need.
Whichever has no room raises `budget_exhausted`, which ends the role and not the run.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory.protocol import BudgetKind, Memory, Settlement

ROUNDING = 1e-9  # relative: sums of decimal fractions may lie an ulp above the share


@dataclass
class Account:
    """The account of one filling of a role.

    Attributes:
        shares: the most that it may spend, by kind; a kind that is absent has no share, only the run's limit.
    """

    memory: Memory
    run: str
    attempt: int
    role: str
    filling: int
    shares: Mapping[BudgetKind, float]
    spent: dict[BudgetKind, float] = field(default_factory=dict)
    _open: dict[tuple[BudgetKind, str], float] = field(default_factory=dict)

    def reserve(self, kind: BudgetKind, key: str, most: float) -> None:
        """Set aside the worst case of a call, in tokens or US dollars.

        Raises:
            EnlistError: `budget_exhausted` where the role's share or the run's budget has no room; nothing is reserved.
        """
        held = math.fsum(amount for (k, _), amount in self._open.items() if k == kind)
        self._check(kind, self.spent.get(kind, 0.0) + held + most)
        self.memory.reserve(self.run, self.attempt, kind, self._key(key), most)
        self._open[kind, key] = most

    def settle(self, kind: BudgetKind, key: str, amount: float) -> None:
        """Say what a call has cost; in one transaction with the journal's note of it.

        Raises:
            EnlistError: `budget_exhausted` where it cost more than was left of the share; the cost stands.
        """
        self._open.pop((kind, key), None)
        self.spent[kind] = self.spent.get(kind, 0.0) + amount
        self.memory.commit(self.run, self.attempt, [NewEvent(
            kind="note", role=self.role, key=f"spent:{kind}:{self._key(key)}",
            data={"filling": self.filling, "spent": {kind: amount}})],
            settle=[Settlement(kind=kind, key=self._key(key), amount=amount)])
        self._check(kind, self.spent[kind])

    def _check(self, kind: BudgetKind, amount: float) -> None:
        share = self.shares.get(kind)
        if share is not None and amount > share * (1 + ROUNDING):
            raise EnlistError("budget_exhausted", f"role {self.role} spends more than its share of the run's {kind}",
                              given=f"{amount:g} {kind}", allowed=f"{share:g}", fix="give the run a larger budget")

    def _key(self, key: str) -> str:
        # A filling that was killed may have been billed: its reservation stands and the next one makes its own.
        return f"{self.role}:{self.filling}:{key}"
