"""Whole patterns of models: bytes and FLOP that a bound may charge, by hand."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds

Price = Callable[..., Bounds]
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nclass Model(nn.Module):\n"
CACHES = "torch.rand(2, 4, 100, 8), torch.rand(2, 4, 100, 8)"
ONE = 2 * 4 * 8 * 4  # bytes of one position of all heads
DECODE = f"torch.rand(2, 4, 1, 8), torch.rand(2, 4, 1, 8), torch.rand(2, 4, 1, 8), {CACHES}"


@pytest.fixture
def price(model_file: Callable[..., object]) -> Price:
    """Bounds of a forward pass: its arguments, its lines, its inputs."""
    from enlist.tools.solar.pytorch.capture import capture

    def of(arguments: str, lines: str, inputs: str) -> Bounds:
        body = "".join(f"        {line}\n" for line in lines.split("; "))
        text = f"{HEAD}    def forward(self, {arguments}):\n{body}def get_inputs():\n    return [{inputs}]\n"
        return bounds(capture(model_file(text=text)), resolve(["H100 PCIe"]))

    return of


@pytest.mark.parametrize(("write", "more"), [
    ("ck[:, :, 99:100] = k; cv[:, :, 99:100] = v", 0), ("ck[:, :, 99:] = k; cv[:, :, 99:] = v", 0),
    ("ck.index_copy_(2, pos, k); cv.index_copy_(2, pos, v)", 8), ("ck[:, :, pos] = k; cv[:, :, pos] = v", 8)])
def test_a_decoding_step_writes_one_position_and_reads_the_others(price: Price, write: str, more: int) -> None:
    """Query and result, the old positions of both caches, and the new ones in and out."""
    made = price("q, k, v, ck, cv, pos=None", f"{write}; return F.scaled_dot_product_attention(q, ck, cv)",
                 DECODE + (", torch.tensor([99])" if more else ""))
    assert made.fused_bytes == 2 * ONE + 2 * 99 * ONE + 2 * 2 * ONE + more
    assert made.matrix_flop == {"attention": 2 * 4 * 100 * 4 * 8}


@pytest.mark.parametrize(("arguments", "weight", "inputs", "stored"), [
    ("x, w, s", "w.to(torch.bfloat16) * s", "torch.randint(-8, 8, (32, 64)).to(torch.int8), {s}", 32 * 64),
    ("x, w, s", "w.to(torch.bfloat16) * s", "torch.rand(32, 64).to(torch.float8_e4m3fn), {s}", 32 * 64),
    ("x, w, s", "(torch.stack([w & 15, w >> 4], -1).view(32, 64).to(torch.bfloat16) - 8) * s",
     "torch.randint(0, 255, (32, 32)).to(torch.uint8), {s}", 32 * 32)])
def test_quantised_weights_move_as_they_are_stored_and_are_multiplied_as_activations(
        price: Price, arguments: str, weight: str, inputs: str, stored: int) -> None:
    scales = "torch.rand(32, 1).to(torch.bfloat16)"
    made = price(arguments, f"return F.linear(x, {weight})",
                 f"torch.rand(3, 64).to(torch.bfloat16), {inputs.format(s=scales)}")
    assert made.fused_bytes == 3 * 64 * 2 + stored + 32 * 2 + 3 * 32 * 2
    assert made.flop["tensor.bf16"] == 2 * 3 * 64 * 32


@pytest.mark.parametrize("lines", [
    "return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
    "return F.scaled_dot_product_attention(q, k.expand(2, 4, 30, 8), v.expand(2, 4, 30, 8))",
    "k, v = (t.expand(2, 4, 30, 8) for t in (k, v)); return (q @ k.mT).softmax(-1) @ v"])
def test_heads_that_share_keys_read_them_once(price: Price, lines: str) -> None:
    made = price("q, k, v", lines, "torch.rand(2, 4, 30, 8), torch.rand(2, 1, 30, 8), torch.rand(2, 1, 30, 8)")
    assert made.fused_bytes == (2 * 4 * 30 * 8 * 2 + 2 * 2 * 30 * 8) * 4
    assert sum(made.matrix_flop.values()) == 2 * 4 * 30 * 30 * 4 * 8


def test_latent_attention_reads_latents_and_not_the_keys_made_of_them(price: Price) -> None:
    made = price("q, c, wk, wv", "k = torch.einsum('btc,hcd->bhtd', c, wk); v = torch.einsum('btc,hcd->bhtd', c, wv); "
                 "return F.scaled_dot_product_attention(q, k, v)",
                 "torch.rand(2, 4, 1, 8), torch.rand(2, 100, 17), torch.rand(4, 17, 8), torch.rand(4, 17, 8)")
    assert made.fused_bytes == (2 * ONE // 4 + 2 * 100 * 17 + 2 * 4 * 17 * 8) * 4
    assert made.matrix_flop == {"matmul": 2 * 2 * 2 * 100 * 4 * 17 * 8, "attention": 2 * 4 * 100 * 4 * 8}


def test_pages_that_a_table_chooses_are_surely_one(price: Price) -> None:
    made = price("q, kp, vp, t", "k, v = (p[t].flatten(1, 2).transpose(1, 2) for p in (kp, vp)); "
                 "return F.scaled_dot_product_attention(q, k, v)", "torch.rand(2, 4, 1, 8), torch.rand(50, 16, 4, 8), "
                 "torch.rand(50, 16, 4, 8), torch.randint(0, 50, (2, 6))")
    page = 16 * 4 * 8 * 4
    assert made.fused_bytes == 2 * ONE + 2 * page + 12 * 8
    gathered = [t for t in made.devices[0].terms if t.op == "index"]
    assert [t.bytes for t in gathered] == [2 * 12 * page + 12 * 8] * 2  # as a kernel of its own: different pages


def test_rotary_embedding_of_complex_numbers_takes_six_flop_for_each(price: Price) -> None:
    made = price("x, f", "y = torch.view_as_complex(x.view(2, 9, 4, 4, 2)) * f; return torch.view_as_real(y)",
                 "torch.rand(2, 9, 4, 8), torch.view_as_complex(torch.rand(9, 1, 4, 2))")
    assert made.flop == {"vector.fp32": 6 * 2 * 9 * 4 * 4} and made.unmodelled == ()


def test_a_training_step_counts_three_times_the_products_of_its_forward_pass(model_file: Callable[..., object]) -> None:
    """But not for the first layer, whose input wants no gradient."""
    from enlist.tools.solar.pytorch.capture import capture

    text = (f"{HEAD}    def __init__(self):\n        super().__init__()\n"
            "        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, 5)\n"
            "    def forward(self, x):\n        return self.head(F.gelu(self.conv(x)).mean((2, 3)))\n"
            "def get_inputs():\n    return [torch.rand(32, 3, 9, 9)]\n")
    made = bounds(capture(model_file(text=text), training="step:adamw"), resolve(["H100 PCIe"]))
    convolution, linear = 2 * 32 * 3 * 4 * 9 * 49, 2 * 32 * 4 * 5
    assert made.matrix_flop == {"convolution": 2 * convolution, "matmul": 3 * linear} and made.unmodelled == ()


@pytest.mark.parametrize(("lines", "named"), [
    ("return x[:, :5].cumsum(1)", "45 of 72 elements of x are read"), ("a, b = x.chunk(2, 1); return a * b", ""),
    ("return x.cumsum(1)", ""), ("return x[:, 0].clone() + x[:, 1:].sum(1)", "")])
def test_what_is_read_of_an_input_in_part_is_named(price: Price, lines: str, named: str) -> None:
    made = price("x", lines, "torch.rand(9, 8)")
    assert {t.less for t in made.devices[0].terms} == {named}
