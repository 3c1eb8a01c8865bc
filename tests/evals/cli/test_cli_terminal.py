"""Nothing that comes from outside drives the terminal, and what is printed fits it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enlist.evals.cli.terminal import cut_short, one_line, plain, share_out

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eevil\r\b[bold]"


@given(st.text())
def test_plain_text_has_no_control_characters_and_keeps_all_else(text: str) -> None:
    shown = plain(text)
    assert not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in shown)
    assert "\n" not in one_line(text)
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("call", [
    ["team", "count", "--attach", HOSTILE], ["show", HOSTILE], ["tool", HOSTILE], ["agents", "show", HOSTILE],
    ["capabilities", "show", HOSTILE], ["memory", "search", HOSTILE], [HOSTILE], ["runs", f"--{HOSTILE}"],
    ["run", f"translate {HOSTILE}"], ["tool", "solar-bounds", "--input", HOSTILE]], ids=lambda call: call[0][:6])
def test_hostile_names_reach_the_terminal_without_control_characters(enlist: Any, call: list[str]) -> None:
    said = enlist(*call)
    for stream in (said.out, said.err, enlist("runs").out):
        assert not any(c in stream for c in "\x1b\x07\x9b\u202e\r\b")


def test_markup_in_a_request_is_shown_as_typed(enlist: Any) -> None:
    enlist("run", "translate [bold]this[/bold] poem")
    assert "[bold]this[/bold]" in enlist("runs").out


@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.integers(40, 200))
def test_columns_share_the_width_and_none_gets_more_than_it_needs(needs: list[int], width: int) -> None:
    shares = share_out(needs, width, keep=())
    assert sum(shares) <= width
    assert all(0 < share <= need for share, need in zip(shares, needs, strict=True))
    if sum(needs) <= width:
        assert shares == needs


@pytest.mark.parametrize("call", [["tools", "list"], ["agents", "list"], ["capabilities", "list", "--all"],
                                  ["envs", "list"], ["doctor"], ["runs"], ["capabilities", "show", "speed_of_light"]],
                         ids=" ".join)
def test_tables_fit_80_columns_one_line_a_row(enlist: Any, call: list[str]) -> None:
    enlist("run", "translate a very long poem " * 8)
    said = enlist(*call)
    assert max(map(len, said.out.splitlines())) <= 80
    assert not any(line != line.rstrip() for line in said.out.splitlines())


@given(st.floats(0, 1e9), st.integers(4, 40))
def test_a_cell_that_is_cut_holds_no_part_of_a_number(number: float, width: int) -> None:
    text = f"it takes {number} s in all, and that is that, whatever else"
    shown = cut_short(text, width)
    assert len(shown) <= width and shown.endswith("…") and text.startswith(shown[:-1])
    assert not any(c.isdigit() for c in shown) or f" {number}" in shown


def program(tmp_path: Path, **more: str) -> tuple[list[str], dict[str, str]]:
    code = "import sys; from enlist.evals.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", code], {**os.environ, "ENLIST_HOME": str(tmp_path), "COLUMNS": "80", **more}


@pytest.mark.parametrize("arguments", [["capabilities", "list", "--all"], ["capabilities", "list", "--all", "--json"],
                                       ["--help"]], ids=" ".join)
def test_a_reader_that_goes_away_ends_the_program_quietly(tmp_path: Path, arguments: list[str]) -> None:
    command, environment = program(tmp_path)
    running = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert running.stdout is not None and running.stderr is not None
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait() == 0 and said == b""


def test_an_ascii_terminal_gets_question_marks_instead_of_a_crash(tmp_path: Path) -> None:
    command, environment = program(tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0",
                                   PYTHONIOENCODING="ascii")
    done = subprocess.run([*command, "capabilities", "show", "日本"], capture_output=True, env=environment)
    assert done.returncode == 2 and done.stderr.isascii() and b"?" in done.stderr and b"Traceback" not in done.stderr
    done = subprocess.run([*command, "capabilities", "list"], capture_output=True, env=environment)
    assert done.returncode == 0 and done.stdout.isascii()
