"""The output that the tutorial of speed of light reads aloud is what the command prints, and so are its figures."""

import re
from pathlib import Path

from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.report.amounts import duration
from enlist.tools.solar.report.analysis import Question, analyse
from enlist.tools.solar.report.words import answer_lines

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "speed-of-light.md").read_text(encoding="utf-8")


def test_the_tutorial_reads_what_the_command_prints() -> None:
    from enlist.tools.solar.pytorch.capture import capture

    graph, device = capture(ROOT / "examples" / "gpt2.py"), resolve(["H100 SXM"])
    made = analyse(graph, Question(device, measured_s=0.02))
    (printed,) = re.findall(r"^```\n(gpt2\.py:Model on .*?)\n```", PAGE, re.DOTALL | re.MULTILINE)
    assert printed.splitlines() == answer_lines(made.title, made.one)
    saved = {o.what: o.saves_s for o in made.opportunities}
    assert list(saved)[:3] == ["49 x linear", "float8_e4m3fn", "bfloat16"]
    assert "6 ms if the products" in PAGE and round(saved["49 x linear"] * 1e3) == 6
    half = analyse(graph, Question(device, dtype="bf16")).one
    assert f"the fused bound is {duration(half.fused_s)}, and unfused ({duration(half.unfused_s)})" in PAGE
    assert half.limiting_roof == "tensor.bf16"
