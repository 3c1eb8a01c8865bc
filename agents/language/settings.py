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
from collections.abc import Sequence
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from enlist.tools.runtime.config import Config, Setting
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest

NONE = "none"  # what `use_models` says where no model may be used


class ModelSettings(BaseModel):
    """One model. Prices in US dollars per million tokens; a price that is None is unknown.

    Attributes:
        max_tokens: the most that an answer may have. timeout: seconds that one question may take with all its tries;
            first_byte_seconds, idle_seconds: until the endpoint begins to answer, and between two pieces of it.
        schema_mode: whether the endpoint knows `response_format: json_schema`; answers are checked either way.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=60, pattern=r"^[\w.-]+$")
    endpoint: str
    model: str = Field(min_length=1)
    key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    usd_per_million_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    usd_per_million_out: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    capabilities: tuple[str, ...] = ()
    max_tokens: int = Field(default=1024, gt=0)
    timeout: float = Field(default=300.0, gt=0)
    first_byte_seconds: float = Field(default=60.0, gt=0)
    idle_seconds: float = Field(default=30.0, gt=0)
    schema_mode: bool = True

    @field_validator("endpoint")
    @classmethod
    def _http(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.username or parts.password or parts.query:
            raise ValueError("an http or https address without a user, password or query, such as "
                             "http://localhost:8000/v1")
        return value.rstrip("/")

    @property
    def priced(self) -> bool:
        return self.usd_per_million_in is not None and self.usd_per_million_out is not None

    def usd(self, tokens_in: int, tokens_out: int) -> float:
        """What a call costs; 0 where the price is unknown."""
        return ((self.usd_per_million_in or 0.0) * tokens_in + (self.usd_per_million_out or 0.0) * tokens_out) / 1e6

    def key(self) -> str | None:
        """The key, read now from this process's environment; `bad_input` where the named variable is not set, or holds
        what no header can."""
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise EnlistError("bad_input", f"the key of model {self.name} cannot be sent",
                              given=f"environment variable {self.key_env}", allowed="printable ASCII characters",
                              fix=f"correct {self.key_env}")
        if not key:
            raise EnlistError("bad_input", f"the key of model {self.name} is not set on this machine",
                              given=f"environment variable {self.key_env}", allowed="the endpoint's key",
                              fix=f"set {self.key_env} on every node, or remove key_env")
        return key


def read_model(table: Setting) -> ModelSettings:
    """A table of `enlist.toml` as settings; `bad_input` names what is wrong in it, and the nearest right key."""
    allowed = [name for name in ModelSettings.model_fields if name != "name"]
    try:
        return ModelSettings.model_validate({**table.value, "name": table.name})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]  # a value may be a key in the wrong place
        field = ".".join(map(str, first["loc"]))
        hint = nearest(field, allowed) if first["type"] == "extra_forbidden" else []
        raise EnlistError("bad_input", f"{table.origin}: [models.{table.name}] {field}: {first['msg']}", given=field,
                          allowed=", ".join(hint or allowed), fix="correct or remove the key") from None


def configured(config: Config) -> tuple[ModelSettings, ...]:
    """The models that runs may use, in order of the file: all tables, or those that `use_models` names.

    Raises:
        EnlistError: `bad_input` for a table that cannot be right, `not_found` for a name without a table.
    """
    found = {name: read_model(table) for name, table in config.models.items()}
    wanted = [name.strip() for name in str(config["use_models"]).split(",") if name.strip()]
    if wanted == [NONE]:
        return ()
    for name in wanted:
        if name not in found:
            raise EnlistError("not_found", "no model of this name is configured", given=name,
                              allowed=", ".join(nearest(name, found) or found) or "there is none in enlist.toml",
                              fix="correct use_models, or add the table [models.NAME] to enlist.toml")
    return tuple(found[name] for name in dict.fromkeys(wanted or found))


def serving(models: Sequence[ModelSettings], capability: str) -> ModelSettings | None:
    """The model that serves a capability: the first that names it."""
    return next((model for model in models if capability in model.capabilities), None)


def served(models: Sequence[ModelSettings]) -> tuple[str, ...]:
    """The model capabilities that these models serve."""
    return tuple(sorted({capability for model in models for capability in model.capabilities}))


def check_prices(models: Sequence[ModelSettings], usd: float | None) -> None:
    """Refuse a budget in dollars with a model whose price is unknown: nobody could keep it."""
    free = [model.name for model in models if model.capabilities and not model.priced]
    if usd is not None and free:
        raise EnlistError("bad_input", f"no budget in dollars can be kept with model {free[0]}: its price is not known",
                          given=f"--budget-usd {usd:g}",
                          allowed="models with usd_per_million_in and usd_per_million_out",
                          fix="add the prices to enlist.toml (0 for a model that costs nothing), leave --budget-usd "
                              "away, or the model with --use-models none")
