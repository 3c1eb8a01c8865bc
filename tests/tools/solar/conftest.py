"""Models for the tests of solar: trusted source text, captured in this process."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.pytorch.check import Count, count

EXAMPLES = Path(__file__).parents[3] / "examples"


def source(forward: str, inputs: str, init: str = "pass") -> str:
    """A model file: the body of __init__, of forward (over `a, b, c...` for the inputs) and the list of inputs."""
    names = ", ".join("abcdef"[: len(re.findall(r"torch\.(?:rand|zeros)\(", inputs))])
    return (f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n        {init}\n\n"
            f"    def forward(self, {names}):\n        return {forward}\n\n\n"
            f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n")


@pytest.fixture
def model_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a model file: `model_file(forward, inputs, init)` or `model_file(text=...)`."""

    def write(forward: str = "", inputs: str = "", init: str = "pass", text: str | None = None) -> Path:
        path = tmp_path / "model.py"
        path.write_text(source(forward, inputs, init) if text is None else text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def graph_of(model_file: Callable[..., Path]) -> Callable[..., Graph]:
    """Capture a model given as `model_file` takes it."""
    return lambda *args, **kwargs: capture(model_file(*args, **kwargs))


@pytest.fixture(scope="session")
def gpt2() -> Graph:
    return capture(EXAMPLES / "gpt2.py")


@pytest.fixture(scope="session")
def gpt2_count() -> Count:
    return count(EXAMPLES / "gpt2.py")
