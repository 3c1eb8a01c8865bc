"""A model's settings: where it is, what it is called there, what it costs, and what it may be asked for.

    [models.small]
    endpoint = "http://localhost:8000/v1"
    model = "served-name"
    key_env = "SMALL_KEY"               # the variable that holds the key; the key itself is never written anywhere
    usd_per_million_in = 0.1
    usd_per_million_out = 0.4
    capabilities = ["wording"]
"""

import os
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from enlist.tools.runtime.errors import EnlistError


class ModelSettings(BaseModel):
    """One model. Prices in US dollars per million tokens; a price that is None is unknown. Limits in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    endpoint: str
    model: str = Field(min_length=1)
    key_env: str | None = None
    usd_per_million_in: float | None = Field(default=None, ge=0)
    usd_per_million_out: float | None = Field(default=None, ge=0)
    capabilities: tuple[str, ...] = ()
    first_byte_seconds: float = Field(default=60.0, gt=0)
    idle_seconds: float = Field(default=30.0, gt=0)
    total_seconds: float = Field(default=300.0, gt=0)
    schema_mode: bool = True

    @field_validator("endpoint")
    @classmethod
    def _http(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.username or parts.password:
            raise ValueError("an http or https address without a user or password, such as http://localhost:8000/v1")
        return value.rstrip("/")

    @property
    def priced(self) -> bool:
        return self.usd_per_million_in is not None and self.usd_per_million_out is not None

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        """What a call costs; 0 where the price is unknown."""
        return ((self.usd_per_million_in or 0.0) * tokens_in + (self.usd_per_million_out or 0.0) * tokens_out) / 1e6

    def key(self) -> str | None:
        """The key, read now from this process's environment; `bad_input` where the named variable is not set."""
        if self.key_env is None:
            return None
        if not os.environ.get(self.key_env):
            raise EnlistError("bad_input", f"the key of model {self.name} is not set on this machine",
                              given=f"environment variable {self.key_env}", allowed="the endpoint's key",
                              fix=f"set {self.key_env} on every node, or remove key_env")
        return os.environ[self.key_env]
