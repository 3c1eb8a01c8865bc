import re
from pathlib import Path

import pytest

from enlist.tools.runtime.sandbox import LEVELS, Level
from enlist.tools.runtime.sandbox.openings import not_held

PAGE = (Path(__file__).parents[4] / "docs" / "safety.md").read_text()
ROWS = {cells[0]: dict(zip(LEVELS, cells[1:], strict=True)) for line in PAGE.splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 4 and "---" not in line
        and cells[0] != "open to the job"}


@pytest.mark.parametrize("level", LEVELS)
def test_the_table_says_what_the_reports_say(level: Level) -> None:
    """Signals at landlock depend on the kernel: the table is read for one that has scopes."""
    as_root = set(not_held(level, as_root=True, signals=False))
    as_user = set(not_held(level, as_root=False, signals=False))
    said = {"open": {row for row in ROWS if ROWS[row][level] == "open"},
            "user": {row for row in ROWS if ROWS[row][level] == "user"}}
    assert said == {"open": as_root, "user": as_user - as_root}


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(LEVELS)
