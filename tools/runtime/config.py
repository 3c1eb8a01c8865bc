"""Configuration: flag, then environment, then `enlist.toml`, then the default; each value knows where it came from.

`enlist.toml` is looked for in the current folder, then in ENLIST_HOME. Secrets are never in it: keys are named by the
environment variable that holds them. Its tables `[models.NAME]` describe language models; they are only collected here
and read by the room that asks models (`enlist.agents.language.settings`).
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest

FILE = "enlist.toml"
MODELS = "models"  # the tables of language models in the file


@dataclass(frozen=True)
class Option:
    """One option: its environment variable, type, default and meaning."""

    name: str
    variable: str
    kind: type
    default: Any
    meaning: str


OPTIONS: dict[str, Option] = {o.name: o for o in (
    Option("home", "ENLIST_HOME", str, "~/.enlist", "folder of the store, artifacts and tokens"),
    Option("memory", "ENLIST_MEMORY", str, "", "store locator; empty: SQLite in home; or postgresql://..."),
    Option("artifacts", "ENLIST_ARTIFACTS", str, "", "folder that all nodes see, or s3://bucket/prefix; empty: "
           "beside the SQLite store, or as the locator says"),
    Option("address", "ENLIST_ADDRESS", str, "", "Ray cluster to run on; empty: a local one of this run's own"),
    Option("seed", "ENLIST_SEED", int, 0, "seed of team search"),
    Option("budget_seconds", "ENLIST_BUDGET_SECONDS", float, 0.0, "wall seconds a run may take; 0: no limit"),
    Option("budget_usd", "ENLIST_BUDGET_USD", float, None, "US dollars that a run may spend on language models; unset: "
           "no limit"),
    Option("use_models", "ENLIST_USE_MODELS", str, "", "names of models that runs may use, by comma; empty: all; "
           "or none"),
    Option("model_replay", "ENLIST_MODEL_REPLAY", str, "", "record:FOLDER keeps what models answer, replay:FOLDER "
           "answers from there and asks nobody"),
    Option("routing", "ENLIST_ROUTING", str, "words", "what requests are routed by: words, or meaning too (extra "
           "embedding)"),
    Option("sandbox", "ENLIST_SANDBOX", str, "", "sandbox level; empty: the best there is"),
    Option("out", "ENLIST_OUT", str, "enlist-out", "folder that reports are written below"),
    Option("ray_auth_mode", "RAY_AUTH_MODE", str, "token", "Ray authentication: token or disabled"),
)}


@dataclass(frozen=True)
class Setting:
    """A value in force and its origin: "flag", "environment NAME", "file PATH" or "default"."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True)
class Config:
    """All settings in force, by name; `models` are the tables of language models, by name, as the files have them."""

    settings: Mapping[str, Setting]
    models: Mapping[str, Setting] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.settings[name].value

    @property
    def home(self) -> Path:
        return Path(self["home"]).expanduser().absolute()

    def locator(self) -> str:
        """The locator of the store, with the place of its artifacts where one is set."""
        store = str(self["memory"]) or f"sqlite://{quote(str(self.home / 'store.db'))}"
        if not self["artifacts"]:
            return store
        return f"{store}{'&' if '?' in store else '?'}artifacts={quote(str(self['artifacts']), safe='')}"


def read(flags: Mapping[str, Any] | None = None) -> Config:
    """The configuration in force; `flags` that are None count as not given.

    Raises:
        EnlistError: `bad_input` for a file that is not TOML, an unknown key (nearest named) or a value of another type.
    """
    values = {name: Setting(name, option.default, "default") for name, option in OPTIONS.items()}
    models: dict[str, Setting] = {}
    home = Path((flags or {}).get("home") or os.environ.get("ENLIST_HOME") or OPTIONS["home"].default).expanduser()
    for path in (home / FILE, Path(FILE)):
        if path.is_file():
            data = _load(path)
            models.update(_tables(path, data.pop(MODELS, {})))
            values.update(_from_file(path, data))
    for name, option in OPTIONS.items():
        if os.environ.get(option.variable):
            values[name] = Setting(name, _convert(option, os.environ[option.variable], option.variable),
                                   f"environment {option.variable}")
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = Setting(name, _convert(OPTIONS[name], value, f"--{name.replace('_', '-')}"), "flag")
    return Config(values, models)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EnlistError("bad_input", f"cannot read {path}: {error}", allowed="a TOML file of options",
                          fix="correct the file; `enlist config show` lists the options") from error


def _from_file(path: Path, data: Mapping[str, Any]) -> dict[str, Setting]:
    found = {}
    for name, value in data.items():
        if name not in OPTIONS:
            hints = nearest(name, [*OPTIONS, MODELS]) or list(OPTIONS)
            raise EnlistError("bad_input", f"unknown option in {path}", given=name, allowed=", ".join(hints),
                              fix="correct or remove the key")
        found[name] = Setting(name, _convert(OPTIONS[name], value, f"{path}: {name}"), f"file {path}")
    return found


def _tables(path: Path, value: Any) -> dict[str, Setting]:
    """The tables of language models of one file, as they are."""
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise EnlistError("bad_input", f"{path}: {MODELS} is not made of tables", given=repr(value)[:100],
                          allowed=f"[{MODELS}.NAME] with endpoint and model", fix="see docs/models.md")
    return {name: Setting(name, table, f"file {path}") for name, table in value.items()}


def _convert(option: Option, value: Any, where: str) -> Any:
    try:
        converted = option.kind(value)
        if isinstance(value, bool) or (option.kind is str and not isinstance(value, str)):
            raise ValueError
    except (TypeError, ValueError) as error:
        raise EnlistError("bad_input", f"{where} has a value of the wrong kind", given=repr(value),
                          allowed=f"a {option.kind.__name__}: {option.meaning}") from error
    return converted
