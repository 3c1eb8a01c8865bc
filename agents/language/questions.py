"""The interface to language models. Models propose and word; no number of a report comes from their text.

A model is found by the capability it serves ("wording"), not by its name (`enlist.agents.language.provider`).
"""

from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field


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

