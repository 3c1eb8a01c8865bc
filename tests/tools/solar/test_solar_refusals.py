"""What capture refuses because a bound of it would be no bound, and devices by every name that people give them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pytorch.capture import capture

MODEL = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
    def forward(self, x):
        with {context}:
            return self.inner(x)
def get_inputs():
    return [torch.rand(4, 8)]
"""


@pytest.mark.parametrize("context", ['torch.autocast("cuda")', 'torch.autocast("cuda", torch.bfloat16)',
                                     'torch.amp.autocast("cpu", dtype=torch.bfloat16)'])
def test_a_model_that_asks_for_autocast_is_refused(model_file: Callable[..., Path], context: str) -> None:
    with pytest.raises(EnlistError, match="autocast") as fault:
        capture(model_file(text=MODEL.format(context=context)))
    assert fault.value.code == "unsupported" and fault.value.fix


@pytest.mark.parametrize("context", ['torch.autocast("cuda", enabled=False)', "torch.no_grad()"])
def test_a_model_that_asks_for_none_is_not(model_file: Callable[..., Path], context: str) -> None:
    assert capture(model_file(text=MODEL.format(context=context))).nodes


@pytest.mark.parametrize(("said", "meant"), [
    ("NVIDIA A100-SXM4-80GB", ["A100 SXM 80GB"]), ("Tesla A100 PCIe 40GB", ["A100 PCIe 40GB"]),
    ("nvidia h100", ["H100 SXM", "H100 PCIe"]), ("H100 80GB", ["H100 SXM", "H100 PCIe"]),
    ("h100-pcie", ["H100 PCIe"]), ("NVIDIA H100 PCIe", ["H100 PCIe"])])
def test_a_device_is_known_with_and_without_its_maker(said: str, meant: list[str]) -> None:
    assert sorted(d.name for d in resolve([said])) == sorted(meant)
