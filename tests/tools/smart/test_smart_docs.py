"""The example of docs/teaming.md runs and prints what the page says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "teaming.md"


def test_the_example_prints_what_the_page_says(capsys):
    text = PAGE.read_text(encoding="utf-8")
    code, printed = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL).group(1) for kind in ("python", "text"))
    exec(code, {})
    assert capsys.readouterr().out == printed
