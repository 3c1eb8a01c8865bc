"""A model within a budget: the worst case of a call is reserved before it, and what it cost is settled after it."""

from dataclasses import dataclass, field
from typing import Protocol

from enlist.agents.language.questions import Answer, Ask
from enlist.agents.language.settings import ModelSettings
from enlist.agents.spending import Account
from enlist.tools.runtime.errors import EnlistError


class Priced(Protocol):
    """A model that can tell what a call costs at most."""

    @property
    def settings(self) -> ModelSettings:
        """Which model."""

    def worst_case(self, question: Ask) -> tuple[int, float]:
        """Tokens and US dollars that a call can cost at most."""

    def ask(self, question: Ask) -> Answer:
        """One answer."""


@dataclass
class Budgeted:
    """A model whose calls a role's account pays for."""

    model: Priced
    account: Account
    _calls: int = field(default=0, init=False)

    def ask(self, question: Ask) -> Answer:
        """One answer; `budget_exhausted` before the call where its worst case has no room.

        A call that fails settles at its worst case: what the endpoint billed is not known.
        """
        self._calls += 1
        key = f"{self.model.settings.name}:{self._calls}"
        tokens, usd = self.model.worst_case(question)
        self.account.reserve("tokens", key, tokens)
        try:
            self.account.reserve("usd", key, usd)
        except EnlistError:
            self.account.settle("tokens", key, 0)
            raise
        spent_tokens, spent_usd = float(tokens), usd
        try:
            answer = self.model.ask(question)
            spent_tokens, spent_usd = answer.tokens_in + answer.tokens_out, answer.usd
            return answer
        finally:
            self.account.settle("tokens", key, spent_tokens)
            self.account.settle("usd", key, spent_usd)
