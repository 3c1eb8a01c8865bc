"""The worked example of the page on operators does what the page says."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.rules import table

PAGE = Path(__file__).parents[4] / "docs" / "speed-of-light-operators.md"
MODEL = """
import torch
@torch.library.custom_op("mine::unit_rows", mutates_args=())
def unit_rows(x: torch.Tensor) -> torch.Tensor:
    return x / x.norm(dim=-1, keepdim=True)
@unit_rows.register_fake
def _(x):
    return torch.empty_like(x)
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mine.unit_rows(x) @ x.mT
def get_inputs():
    return [torch.rand(4, 8)]
"""


@pytest.fixture
def graph(model_file: Callable[..., Path]) -> Iterator[Graph]:
    from enlist.tools.solar.pytorch.capture import capture

    yield capture(model_file(text=MODEL))
    table.RULES.pop("mine::unit_rows", None)


def test_an_operator_without_a_rule_is_named_and_one_with_the_pages_rule_counts_its_closed_form(graph: Graph) -> None:
    device, product = resolve(["H100"]), 2 * 4 * 4 * 8
    before = bounds(graph, device)
    assert before.unmodelled == ("mine::unit_rows",) and sum(before.flop.values()) == product
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(example, {})
    after = bounds(graph, device)
    assert after.unmodelled == () and after.special == 4
    assert sum(after.flop.values()) == product + (32 + 28 + 32)
