"""Probes on which published tools are wrong by factors of two to fifty-four, each with the figure by hand."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds

Of = Callable[..., Graph]
SQUARE = "torch.rand({0}, {0})"


@pytest.fixture
def made(graph_of: Of) -> Callable[..., Bounds]:
    return lambda *args, **kwargs: bounds(graph_of(*args, **kwargs), resolve(["H100 PCIe"]))


def test_a_product_counts_flop_and_not_multiply_adds(made: Callable[..., Bounds]) -> None:
    found = made("a @ b", ", ".join(["torch.rand(4096, 4096).to(torch.bfloat16)"] * 2))
    assert found.flop == {"tensor.bf16": 2 * 4096**3}
    assert found.devices[0].fused_s == pytest.approx(2 * 4096**3 / 756e12, rel=0.01)


def test_causal_attention_counts_its_half(made: Callable[..., Bounds]) -> None:
    heads = ", ".join(["torch.rand(1, 16, 2048, 64)"] * 3)
    found = made("F.scaled_dot_product_attention(a, b, c, is_causal=True)", heads)
    assert found.matrix_flop == {"attention": 16 * (2048 * 2049 // 2) * 4 * 64}
    assert found.special == 16 * 2048 * 2049 // 2


def test_triangular_operands_count_a_sixth(made: Callable[..., Bounds]) -> None:
    n = 4096
    found = made("torch.triu(torch.triu(a) @ torch.triu(b))", ", ".join([SQUARE.format(n)] * 2))
    assert found.matrix_flop == {"matmul": 2 * (n * (n + 1) * (n + 2) // 6)}


@pytest.mark.parametrize(("forward", "inputs", "moved"), [
    ("a.t().contiguous()", SQUARE.format(4096), 2 * 4096**2 * 4),
    ("torch.logical_and(a > 0, b > 0)", ", ".join([SQUARE.format(64)] * 2), 2 * 64**2 * 4 + 64**2),
    ("a.long() + b.long()", ", ".join([SQUARE.format(64)] * 2), 2 * 64**2 * 4 + 64**2 * 8),
    ("(a * 2, (a * 2) @ b)", ", ".join([SQUARE.format(64)] * 2), 4 * 64**2 * 4)])
def test_copies_integers_and_live_outputs_move_their_bytes(made: Callable[..., Bounds], forward: str, inputs: str,
                                                           moved: int) -> None:
    assert made(forward, inputs).fused_bytes == moved


def test_integers_and_booleans_count_bytes_and_no_flop(made: Callable[..., Bounds], model_file: Callable[..., object],
                                                       ) -> None:
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, m, n, i):\n"
            "        return torch.logical_and(m, n), i + i\n"
            "def get_inputs():\n    return [torch.rand(8192, 8192) > 0, torch.rand(8192, 8192) > 0,\n"
            "            torch.randint(0, 9, (4096, 4096))]\n")
    found = bounds(capture(model_file(text=text)), resolve(["H100 PCIe"]))
    assert found.fused_bytes == 3 * 8192**2 + 2 * 4096**2 * 8 and found.flop == {} and found.special == 0


def test_a_chain_of_tanh_is_held_to_special_functions(made: Callable[..., Bounds]) -> None:
    chain = "a" + ".tanh()" * 100
    found = made(chain, "torch.rand(1024, 1024)")
    assert found.special == 100 * 2**20 and found.devices[0].limiting_roof == "special"
    assert found.devices[0].fused_s > 2 * 2**20 * 4 / 2.039e12
