"""A model for a command that is no run: of the configuration, with its answers kept, within a budget in dollars.

A run pins its models and pays from its budget (`provider`). A command such as `enlist sol` asks a few questions at
most; what they cost in the worst case is added up before each, and one that could pass the budget is not sent.
"""

from dataclasses import dataclass, field

from enlist.agents.language.client import Client
from enlist.agents.language.kept import Kept
from enlist.agents.language.provider import read_replay
from enlist.agents.language.questions import Answer, Ask, LanguageModel
from enlist.agents.language.replay import Recorded
from enlist.agents.language.settings import ModelSettings, check_prices, configured, serving
from enlist.tools.runtime.config import Config
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory


def direct_model(config: Config, capability: str, memory: Memory) -> tuple[LanguageModel, ModelSettings] | None:
    """The configured model that serves a capability, or None; `bad_input` for a budget that nobody could keep."""
    models = configured(config)
    settings = serving(models, capability)
    if settings is None:
        return None
    check_prices([settings], config["budget_usd"])
    paid = Capped(Client(settings), config["budget_usd"])
    if config["model_replay"]:
        mode, folder = read_replay(config["model_replay"])
        return Recorded(paid, settings, folder, mode), settings
    return Kept(paid, settings, memory), settings


@dataclass
class Capped:
    """A client that is asked while the worst case of the next question fits what is left of `usd` (None: no limit)."""

    client: Client
    usd: float | None
    spent: float = field(default=0.0, init=False)

    def ask(self, question: Ask) -> Answer:
        """One answer; `budget_exhausted` before a question that could cost too much. A failed call costs its worst."""
        _, most = self.client.worst_case(question)
        if self.usd is not None and self.spent + most > self.usd:
            raise EnlistError("budget_exhausted", f"model {self.client.settings.name} could cost more than is left",
                              given=f"{most:.4g} USD at most", allowed=f"{self.usd - self.spent:.4g} USD",
                              fix="give a larger budget in dollars, or none")
        self.spent += most
        answer = self.client.ask(question)
        self.spent += answer.usd - most
        return answer
