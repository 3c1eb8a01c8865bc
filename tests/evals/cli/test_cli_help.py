"""Help is quick, complete, fits the terminal and has an example for every command."""

import json
import subprocess
import sys
from typing import Any

import pytest

from enlist.evals.cli.commands import COMMANDS

GROUPS = {"agents": ("list", "show", "snapshot"), "tools": ("list", "show"), "envs": ("list", "show"),
          "capabilities": ("list", "show"), "memory": ("search",), "config": ("show",),
          "campaign": ("run", "show", "diff", "list", "export")}
PATHS = [(name,) for name in COMMANDS] + [(group, name) for group, names in GROUPS.items() for name in names]
HEAVY = ("torch", "ray", "vllm", "langgraph", "mcp")


def modules_after(calls: list[list[str]]) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after these calls of the program."""
    code = ("import sys, json, io, contextlib\nfrom enlist.evals.cli.main import main\n"
            "with contextlib.redirect_stdout(io.StringIO()):\n"
            f"    codes = [main(call) for call in {calls!r}]\n"
            "print(json.dumps([codes, sorted({m.split('.')[0] for m in sys.modules})]))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    codes, names = json.loads(done.stdout)
    assert codes == [0] * len(calls), done.stderr
    return set(names)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_the_help_of_a_command_has_an_example_of_that_command(enlist: Any, path: tuple[str, ...]) -> None:
    said = enlist(*path, "--help")
    assert said.code == 0
    examples = said.out.partition("Example:")[2]
    assert f"enlist {' '.join(path)}" in examples
    assert max(map(len, said.out.splitlines())) <= 80


def test_the_program_lists_every_command_with_its_whole_line(enlist: Any) -> None:
    said = enlist("--help")
    for name, (_, line) in COMMANDS.items():
        assert name in said.out and line in said.out


def test_without_arguments_the_program_shows_its_help(enlist: Any) -> None:
    assert enlist().out == enlist("--help").out


def test_the_version_is_that_of_the_distribution(enlist: Any) -> None:
    from importlib.metadata import version

    assert enlist("--version").out == f"enlist {version('enlist')}\n"


def test_the_first_help_imports_nothing_that_is_slow() -> None:
    assert not modules_after([["--help"]]) & {*HEAVY, "numpy", "pydantic", "yaml", "rich"}


def test_no_help_imports_anything_heavy() -> None:
    assert not modules_after([[*path, "--help"] for path in PATHS]) & set(HEAVY)


def test_a_mistyped_command_is_answered_with_the_nearest(enlist: Any) -> None:
    said = enlist("docter")
    assert said.code == 2 and "'doctor'" in said.err and said.out == ""
