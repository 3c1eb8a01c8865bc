"""What docs/adding-a-tool.md tells a stranger is true of the plug-in and of the code."""

import importlib
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "adding-a-tool.md").read_text(encoding="utf-8")
PLUGIN = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "plugin").rglob("*"))
                   if path.suffix in (".py", ".toml") and "build" not in path.parts)
BLOCKS = re.findall(r"^```(?:python|toml)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
SNIPPET = next(block for block in BLOCKS if "import check_tool" in block)


def test_every_excerpt_stands_in_the_plug_in_as_printed() -> None:
    excerpts = [block for block in BLOCKS if block != SNIPPET]
    assert len(excerpts) >= 5
    for block in excerpts:
        # The plug-in registers more beside what the page shows: there, each line stands.
        parts = block.splitlines() if block.startswith("[project") else re.split(r"(?<=:\n)(?=def )", block)
        for part in parts:
            assert part.strip("\n") in PLUGIN, part


def test_every_name_can_be_imported_from_where_the_page_says() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `(enlist[\w.]+)` \|$", PAGE, flags=re.MULTILINE)
    assert len(rows) >= 7
    for names, module in rows:
        for name in re.findall(r"\w+", names):
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


def test_the_conformance_snippet_runs_where_the_plug_in_is_installed(sample_plugin: dict[str, str]) -> None:
    ran = subprocess.run(["python", "-c", SNIPPET], env=sample_plugin, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "holds\n"), ran.stderr


@pytest.mark.parametrize(("good", "bad"), [
    ("(ANALYST, VERIFIER):\n", "(dataclasses.replace(ANALYST, knobs=(Knob('k', 'm', (Setting(1),)),)), VERIFIER):\n"),
    ("[ANALYST, VERIFIER]", "[ANALYST, dataclasses.replace(VERIFIER, route=ANALYST.route)]"),
    ("(COUNTED, RECOUNT):", "(COUNTED, dataclasses.replace(RECOUNT, check_route='')):")])
def test_the_snippet_refuses_a_knob_of_one_setting_a_shared_route_and_a_tool_that_nothing_checks(
        sample_plugin: dict[str, str], good: str, bad: str) -> None:
    assert good in SNIPPET
    code = "import dataclasses\nfrom enlist.agents.specialist import Knob, Setting\n" + SNIPPET.replace(good, bad)
    ran = subprocess.run(["python", "-c", code], env=sample_plugin, capture_output=True, text=True)
    assert ran.returncode == 1 and "AssertionError" in ran.stderr


def test_the_page_stays_short() -> None:
    assert len(PAGE.splitlines()) < 120
