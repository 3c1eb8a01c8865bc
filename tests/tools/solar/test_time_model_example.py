"""The example that times a model does so for every file that solar can capture."""

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TIME_MODEL = Path(__file__).parents[3] / "examples" / "time_model.py"
HEAD = "import torch\nfrom torch import nn\n"
NET = HEAD + "class {name}(nn.Linear):\n    def __init__(self, width=8):\n        super().__init__(width, width)\n"


@pytest.mark.parametrize(("text", "more"), [
    (NET.format(name="Model") + "def get_inputs():\n    return [torch.rand(2, 8)]\n", []),
    (NET.format(name="Model") + "def get_inputs():\n    return [torch.rand(2, 4)]\n"
                                "def get_init_inputs():\n    return [4]\n", []),
    (NET.format(name="Model") + "def get_inputs():\n    return {'input': torch.rand(2, 4)}\n"
                                "def get_init_inputs():\n    return {'width': 4}\n", []),
    (NET.format(name="Net") + "def get_inputs():\n    return torch.rand(2, 8)\n", ["--target", "Net"]),
    (HEAD + "def twice(x):\n    return 2 * x\ndef get_inputs():\n    return [torch.rand(2)]\n", ["--target", "twice"]),
    ("from width_of_it import WIDTH\n" + NET.format(name="Model") +
     "def get_inputs():\n    return [torch.rand(2, WIDTH)]\n", []),
], ids=["plain", "list of arguments", "dict of arguments", "target", "function", "imports its neighbour"])
def test_the_median_of_a_model_file_is_printed(
        model_file: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
        text: str, more: list[str]) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    path = model_file(text=text)
    path.with_name("width_of_it.py").write_text("WIDTH = 8\n", encoding="utf-8")
    runpy.run_path(str(TIME_MODEL))["main"]([str(path), "--seconds", "0.01", *more])
    said = re.fullmatch(r"([\d.e+-]+) ms on .+\n", capsys.readouterr().out)
    assert said is not None and float(said[1]) > 0
