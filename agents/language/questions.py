"""The interface to language models. Models propose and word; no number of a report comes from their text.

A model is found by the capability it serves ("wording"), not by its name. Runs pass no models to team search yet, so
agents that need one are enlisted in tests only, which register a provider.
"""

from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.errors import EnlistError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ask(_Strict):
    """One question to a model; `json_schema` asks for an answer that fits it. Limits in tokens."""

    system: str
    text: str
    json_schema: dict[str, Any] | None = None
    most_tokens: int = Field(default=512, gt=0)


class Answer(_Strict):
    """A model's answer with what it cost; `estimated` where the endpoint did not say how many tokens it used."""

    text: str
    model: str
    tokens_in: int = Field(ge=0)
    tokens_out: int = Field(ge=0)
    usd: float = Field(ge=0)
    estimated: bool = False


class LanguageModel(Protocol):
    """A model that serves one capability."""

    def ask(self, question: Ask) -> Answer:
        """One answer; raises EnlistError for every fault of the model or the way to it."""


_PROVIDERS: dict[str, LanguageModel] = {}


def register(capability: str, model: LanguageModel) -> None:
    """Let `model` serve a model capability in this process."""
    _PROVIDERS[capability] = model


def language_model(capability: str) -> LanguageModel:
    """The model that serves a capability; `not_installed` where none does."""
    if capability not in _PROVIDERS:
        raise EnlistError("not_installed", "no language model is configured for this", given=capability,
                          fix="this version runs without models; agents that need one are not enlisted")
    return _PROVIDERS[capability]
