"""Structure of example inputs is found without allocating, is said to be assumed, and can be turned off."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.solar.pytorch.capture import capture

Write = Callable[..., Path]
HUGE = 1 << 17  # a square of it takes 64 GiB


def told(path: Path, **options: bool) -> list[tuple[str, str]]:
    graph = capture(path, **options)
    return [(t.structure, t.structure_from) for t in graph.tensors if t.role in ("input", "buffer", "constant")]


@pytest.mark.parametrize(("inputs", "structure"), [
    (f"torch.rand({HUGE}, {HUGE}).triu()", "upper"), (f"torch.tril(torch.rand({HUGE}, {HUGE}))", "lower"),
    (f"torch.tril(torch.rand({HUGE}, {HUGE})).T", "upper"), ("torch.rand(3, 9, 9).tril(-1)", "lower"),
    (f"torch.eye({HUGE})", "diagonal"), ("torch.diag(torch.rand(9))", "diagonal"), (f"torch.zeros({HUGE}, 8)", "zero"),
    ("torch.zeros_like(torch.rand(4, 4))", "zero"), ("torch.rand(9, 9)", "dense"), ("torch.ones(9, 9)", "dense"),
    ("torch.zeros(9, 9).uniform_()", "dense"), ("torch.zeros(9, 9).normal_()", "dense"),
    ("torch.zeros(9, 9, dtype=torch.long)", "dense"), ("torch.rand(9, 9).triu() + 1", "dense"),
    ("torch.rand(9, 9).triu(-1)", "dense")])
def test_how_an_input_is_made_tells_its_structure(model_file: Write, inputs: str, structure: str) -> None:
    path = model_file(text="import torch\ndef Model(a):\n    return a * 2\n"
                           f"def get_inputs():\n    return [{inputs}]\n")
    assert told(path) == [(structure, "assumed from example" if structure != "dense" else "")]
    assert told(path, structure=False) == [("dense", "")]


@pytest.mark.parametrize(("inputs", "structure"), [
    ("np.triu(np.random.rand(9, 9))", "upper"), ("np.zeros((9, 9))", "zero"), ("np.random.rand(9, 9)", "dense")])
def test_small_values_from_numpy_are_looked_at(model_file: Write, inputs: str, structure: str) -> None:
    path = model_file(text="import torch\nimport numpy as np\ndef Model(a):\n    return a * 2\n"
                           f"def get_inputs():\n    return [torch.from_numpy({inputs})]\n")
    assert told(path)[0][0] == structure


def test_a_mask_buffer_has_structure_and_states_and_parameters_have_none(model_file: Write) -> None:
    graph = capture(model_file("self.n(a) * self.mask * self.z + self.p", "torch.rand(9, 9)", "; ".join([
        "self.register_buffer('mask', torch.tril(torch.ones(9, 9)))", "self.n = nn.BatchNorm1d(9)",
        "self.z = torch.zeros(9, 9)", "self.p = nn.Parameter(torch.zeros(9, 9))"])))
    tagged = {t.name: t.structure for t in graph.tensors if t.structure != "dense"}
    assert tagged == {"mask": "lower"}
