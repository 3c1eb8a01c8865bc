"""Search over what runs have found: the help's example finds something, and numbers are shown whole."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.findings import Finding, ToolEvidence
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import NewRecord
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.tool import BOUNDS

EXAMPLE = Path(__file__).parents[3] / "examples" / "gpt2.py"


@pytest.fixture
def found(tmp_path: Path) -> list[Finding]:
    """The findings of the main example, in the program's store."""
    given = BOUNDS.parse(BOUNDS.example | {"devices": ["H100"]})
    output = bounds(capture(EXAMPLE), resolve(["H100"]), None, None)
    made = list(BOUNDS.make_findings("speed_of_light", given, output, lambda pointer: ToolEvidence(
        tool=BOUNDS.name, version=BOUNDS.version, input_sha256="0" * 64, pointer=pointer)))
    memory = open_memory(f"sqlite://{tmp_path / 'home' / 'store.db'}")
    memory.commit("r1", 0, [], [NewRecord(kind="finding", id=f.id, data=f.model_dump(mode="json"), text=f.text)
                                for f in made])
    memory.close()
    return made


def test_the_example_of_the_help_finds_what_the_main_example_found(enlist: Any, found: list[Finding]) -> None:
    for path in (("memory",), ("memory", "search")):
        help = enlist(*path, "--help").out
        (example,) = re.findall(r"^\s+enlist (memory search .+)$", help, flags=re.MULTILINE)
        assert enlist(*shlex.split(example), "--json").document["records"]


@pytest.mark.parametrize("width", ["24", "40", "80", "100"])
def test_a_text_is_shown_whole_however_narrow_the_terminal(
        enlist: Any, found: list[Finding], monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    said = enlist("memory", "search", "cannot run faster")
    assert all(f.text in " ".join(said.out.split()) for f in found) and "…" not in said.out
