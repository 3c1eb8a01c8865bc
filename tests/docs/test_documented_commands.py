"""Every `$ ` command in the README and the docs is run, and the pages link only to files that exist."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SLOW = ("make ", "python -m")  # these set up an environment or measure for minutes


def commands() -> list[Any]:
    found: list[str] = []
    for page in PAGES:
        found += re.findall(r"^\$ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [pytest.param(c, marks=pytest.mark.slow if c.startswith(SLOW) else ()) for c in sorted(set(found))]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@cache
def environment(home: Path) -> dict[str, str]:
    return {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(home), "ENLIST_HOME": str(home),
            "ENLIST_OUT": str(home / "out"), "COLUMNS": "80", "LANG": "C.UTF-8"}


@pytest.mark.parametrize("command", commands())
def test_a_documented_command_does_what_the_page_says(command: str, home: Path) -> None:
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment(home), capture_output=True, text=True,
                          timeout=1800)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), command


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_links_only_to_what_exists(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
    for named in re.findall(r"`((?:tools|agents|orchestrator|environments|evals|tests|docs|examples)/[\w/.-]+)`",
                            page.read_text(encoding="utf-8")):
        assert (ROOT / named).exists(), f"{page.name}: {named}"
