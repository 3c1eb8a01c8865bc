"""The closed list of causes and how their words are found: read from `causes.yaml` beside this file."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from enlist.tools.logs.signals.words import phrases


@dataclass(frozen=True, slots=True)
class Cause:
    """A class of causes.

    Attributes:
        title: as people say it.
        strong, weak: phrases that are said of this mechanism and hardly of another; that support it.
        by_change: the cause is a change that somebody made.
        outside: the component is outside of the system that wrote the logs.
    """

    id: str
    title: str
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    by_change: bool = False
    outside: bool = False


@cache
def causes() -> dict[str, Cause]:
    """Every class of causes by its id."""
    entries = yaml.safe_load(Path(__file__).with_name("causes.yaml").read_text(encoding="utf-8"))
    return {e["id"]: Cause(e["id"], e["title"], phrases(e["strong"]), phrases(e["weak"]), e.get("by_change", False),
                          e.get("outside", False))
            for e in entries}
