"""The program run in this process on a store of its own, as a person would see it: exit status, output, errors."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.cli.main import main


@dataclass(frozen=True)
class Said:
    """What one call of the program gave."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


Enlist = Callable[..., Said]


@pytest.fixture
def enlist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Enlist:
    """`enlist("runs", "--json")` runs the program in an empty folder, 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENLIST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("ENLIST_DEBUG", "ENLIST_SEED", "ENLIST_OUT", "ENLIST_MEMORY", "ENLIST_SANDBOX"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Said:
        capfd.readouterr()
        code = main(arguments)
        return Said(code, *capfd.readouterr())

    return call
