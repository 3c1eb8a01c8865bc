"""A user's own way of writing logs: a YAML file that says where time, level, service and message stand.

Either `pattern`, a regular expression whose named groups `time`, `level`, `service`, `stream` and `message` hold the
parts (other named groups become fields), or `keys`, which names the keys of JSON or logfmt lines for the same parts.
`time_format` (in the words of strptime) reads times of an unusual form.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from enlist.tools.logs.batch import TimeKind
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.framing.levels import level
from enlist.tools.logs.framing.piece import Piece
from enlist.tools.logs.framing.structured import as_fields, stamp
from enlist.tools.runtime.errors import EnlistError

PARTS = ("time", "level", "service", "stream", "message")
_NS = 1_000_000_000


class Mapping(BaseModel):
    """A checked mapping."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str | None = None
    keys: dict[str, str] | None = None
    time_format: str | None = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                groups = re.compile(text).groupindex
            except re.error as error:
                raise ValueError(f"is no regular expression: {error}") from None
            if not set(groups) & set(PARTS):
                raise ValueError(f"names no part; name at least one group of {', '.join(PARTS)}, as (?P<time>...)")
        return text

    @field_validator("keys")
    @classmethod
    def _known(cls, keys: dict[str, str] | None) -> dict[str, str] | None:
        if wrong := sorted(set(keys or ()) - set(PARTS)):
            raise ValueError(f"{wrong[0]} is no part; allowed: {', '.join(PARTS)}")
        return keys

    @model_validator(mode="after")
    def _one(self) -> "Mapping":
        if (self.pattern is None) == (self.keys is None):
            raise ValueError("give either pattern or keys")
        return self

    def read(self, text: str, clock: Clock) -> Piece | None:
        """A line taken apart; None where the mapping does not fit it."""
        if self.pattern is not None:
            match = re.match(self.pattern, text)
            if match is None:
                return None
            parts = {name: value for name, value in match.groupdict().items() if value is not None}
            fields = {name: value for name, value in parts.items() if name not in PARTS}
        else:
            known = as_fields(text)
            named = {part: key for part, key in (self.keys or {}).items() if known and key in known}
            if known is None or not named:
                return None
            parts = {part: known[key] for part, key in named.items()}
            fields = {key: value for key, value in known.items() if key not in named.values()}
        time, how = self._time(parts.get("time", ""), clock)
        message = parts.get("message") or (text if self.pattern else " ".join(f"{k}={v}" for k, v in fields.items()))
        return Piece(message, time, how, level(parts.get("level", "")), parts.get("service", ""),
                     parts.get("stream", ""), fields or None)

    def _time(self, text: str, clock: Clock) -> tuple[int | None, TimeKind]:
        if not self.time_format:
            return stamp(text, clock) or (None, "none")
        try:
            moment = datetime.strptime(text, self.time_format)
        except ValueError:
            return None, "none"
        how: TimeKind = "stated" if moment.tzinfo else "zone-assumed"
        off = 0 if moment.tzinfo else clock.offset
        whole = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (int(whole.replace(microsecond=0).timestamp()) - off) * _NS + whole.microsecond * 1000, how


def load(path: str | Path) -> Mapping:
    """The mapping in a file.

    Raises:
        EnlistError: `not_found`, or `bad_input` that names the key at fault and what is allowed there.
    """
    try:
        data: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EnlistError("not_found", "no such mapping file", given=str(path)) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EnlistError("bad_input", f"the mapping is no readable YAML: {error}", given=str(path)) from None
    if not isinstance(data, dict):
        raise EnlistError("bad_input", "a mapping is a YAML object", given=str(path), allowed=_ALLOWED)
    try:
        return Mapping.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the mapping"
        said = str(first["msg"]).removeprefix("Value error, ")
        raise EnlistError("bad_input", f"{path}: {place}: {said}", given=str(first["input"])[:200], allowed=_ALLOWED,
                          fix="correct this key") from None


_ALLOWED = f"pattern (a regular expression) or keys (of {', '.join(PARTS)}); time_format"
