"""What commands have in common: the configuration in force, the store behind it, and text as it was typed."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from enlist.tools.runtime.config import Config, read
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory


def settings(**flags: Any) -> Config:
    """The configuration with these flags; `bad_input` also for a budget that is none."""
    config = read(flags)
    seconds = config["budget_seconds"]
    if seconds < 0 or not math.isfinite(seconds):
        raise EnlistError("bad_input", "the time budget is no time", given=f"{seconds:g} s",
                          allowed="seconds above 0, or 0 for no limit", fix="correct --budget-seconds")
    usd = config["budget_usd"]
    if usd is not None and (usd < 0 or not math.isfinite(usd)):
        raise EnlistError("bad_input", "the budget in dollars is no amount", given=f"{usd:g} USD",
                          allowed="US dollars, at least 0", fix="correct --budget-usd, or leave it away for no limit")
    if config["sandbox"]:
        os.environ["ENLIST_SANDBOX"] = config["sandbox"]  # workers and children read it there
    return config


@contextmanager
def store(config: Config) -> Iterator[Memory]:
    """The store that the configuration names, closed at the end."""
    memory = open_memory(config.locator())
    try:
        yield memory
    finally:
        memory.close()


def typed_paths(names: Sequence[str] | None) -> list[Path]:
    """Paths as they were typed; `bad_input` for an empty one, which would mean the current folder."""
    if names and not all(names):
        raise EnlistError("bad_input", "a path is empty", given="''", allowed="a file or a folder",
                          fix="name it, or `.` for the current folder")
    return [Path(name) for name in names or ()]


def readable(text: str) -> str:
    """An argument of the process as Unicode: bytes that were not UTF-8 become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
