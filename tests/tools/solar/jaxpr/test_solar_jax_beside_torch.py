"""The same function written in JAX and in PyTorch has the same matrix FLOP and the same compulsory bytes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.solar.confirm import verdicts
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.jaxpr.capture import capture
from enlist.tools.solar.jaxpr.check import count
from enlist.tools.solar.pricing.bounds import bounds

H100 = resolve(["H100 PCIe"])

MLP = ("""
def fn(x, w1, b1, w2, b2):
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2
""", ["(64, 256)", "(256, 1024)", "(1024,)", "(1024, 256)", "(256,)"], """
        super().__init__()
        self.net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))
    def forward(self, x):
        return self.net(x)
""", "torch.rand(64, 256)")

CONVOLUTIONS = ("""
def fn(x, w1, w2, w3):
    conv = lambda a, w, **more: lax.conv_general_dilated(a, w, dimension_numbers=('NCHW', 'OIHW', 'NCHW'), **more)
    x = jax.nn.relu(conv(x, w1, window_strides=(2, 2), padding=[(3, 3), (3, 3)]))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))
    x = jax.nn.relu(conv(x, w2, window_strides=(1, 1), padding='SAME', feature_group_count=64))
    return conv(x, w3, window_strides=(1, 1), padding='VALID')
""", ["(4, 3, 64, 64)", "(64, 3, 7, 7)", "(64, 1, 3, 3)", "(128, 64, 1, 1)"], """
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), nn.ReLU(), nn.Conv2d(64, 128, 1, bias=False))
    def forward(self, x):
        return self.net(x)
""", "torch.rand(4, 3, 64, 64)")

GPT = ("""
def norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def fn(x, params):
    b, s, d = x.shape
    h = norm(x, *params['norm1']) @ params['qkv'][0] + params['qkv'][1]
    q, k, v = (t.reshape(b, s, 4, d // 4) for t in jnp.split(h, 3, axis=-1))
    x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, s, d) @ params['out'][0] + params['out'][1]
    h = jax.nn.gelu(norm(x, *params['norm2']) @ params['up'][0] + params['up'][1])
    return x + h @ params['down'][0] + params['down'][1]
""", ["(2, 64, 128)", "{'norm1': [S((128,), f32)] * 2, 'norm2': [S((128,), f32)] * 2, "
      "'qkv': [S((128, 384), f32), S((384,), f32)], 'out': [S((128, 128), f32), S((128,), f32)], "
      "'up': [S((128, 512), f32), S((512,), f32)], 'down': [S((512, 128), f32), S((128,), f32)]}"], """
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
        self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)
    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, 4, d // 4).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(d, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))
""", "torch.rand(2, 64, 128)")


@pytest.mark.parametrize("case", [MLP, CONVOLUTIONS, GPT], ids=["perceptron", "convolutions", "transformer block"])
def test_both_front_ends_count_the_same(case: tuple[str, list[str], str, str], graph_of_jax: Callable[..., Graph],
                                        graph_of: Callable[..., Graph]) -> None:
    body, shapes, torch_body, torch_inputs = case
    ours = bounds(graph_of_jax(body, *shapes), H100)
    theirs = bounds(graph_of(text=(
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
        f"    def __init__(self):{torch_body}\n\ndef get_inputs():\n    return [{torch_inputs}]\n\n\n"
        "def get_init_inputs():\n    return []\n")), H100)
    assert sum(ours.matrix_flop.values()) == sum(theirs.matrix_flop.values())
    assert ours.fused_bytes == theirs.fused_bytes


@pytest.mark.parametrize("case", [MLP, CONVOLUTIONS], ids=["perceptron", "convolutions"])
def test_the_second_count_confirms(case: tuple[str, list[str], str, str], jax_file: Callable[..., Path]) -> None:
    path = jax_file(case[0], *case[1])
    made, again = bounds(capture(path), H100), count(path)
    assert made.matrix_flop.get("matmul", 0) == again.matmul_flop
    assert made.matrix_flop.get("convolution", 0) == again.convolution_flop
    assert made.fused_bytes == again.parameter_bytes + again.input_bytes + again.output_bytes
    assert all(v.status != "refuted" for v in verdicts(made, again))
    wrong = made.model_copy(update={"matrix_flop": {k: n // 2 for k, n in made.matrix_flop.items()}})  # MAC for FLOP
    assert all(v.status == "refuted" for v in verdicts(wrong, again) if not v.reason.startswith("structure"))


@pytest.mark.parametrize(("operator", "shapes"), [
    ("lax.conv_general_dilated(a, b, (2, 2), 'SAME', rhs_dilation=(2, 2))", ((2, 16, 9, 8), (32, 16, 3, 3))),
    ("lax.conv_general_dilated(a, b, (1, 1), 'VALID', feature_group_count=4)", ((2, 16, 9, 8), (32, 4, 3, 3))),
    ("lax.conv_general_dilated(a, b, (1, 1), 'VALID', batch_group_count=2)", ((4, 16, 9, 8), (32, 16, 3, 3))),
    ("lax.conv_transpose(a, b, (2, 2), 'SAME')", ((2, 8, 8, 16), (3, 3, 16, 8))),
    ("jnp.einsum('bij,bkj->bik', a, b)", ((3, 8, 32), (3, 16, 32))),
])
def test_the_second_count_is_that_of_xla_for_one_operator(operator: str, shapes: tuple[tuple[int, ...], ...],
                                                          jax_file: Callable[..., Path]) -> None:
    import jax
    import jax.numpy as jnp
    from jax import lax

    again = count(jax_file(f"fn = lambda a, b: {operator}", *map(str, shapes)))
    function = eval(f"lambda a, b: {operator}", {"lax": lax, "jnp": jnp})
    said = jax.jit(function).lower(*(jax.ShapeDtypeStruct(s, "float32") for s in shapes)).cost_analysis()
    assert again.matmul_flop + again.convolution_flop == said["flops"]


def test_the_time_of_a_float32_product_is_checked(jax_file: Callable[..., Path]) -> None:
    path = jax_file("fn = lambda x, w: x @ w", "(8192, 8192)", "(8192, 8192)")
    assert {v.status for v in verdicts(bounds(capture(path), H100), count(path))} == {"confirmed"}


def test_work_that_is_done_once_is_not_refuted_by_a_count_of_all(jax_file: Callable[..., Path]) -> None:
    path = jax_file("fn = lambda x, w: x @ w + x @ w", "(512, 512)", "(512, 512)")
    made = verdicts(bounds(capture(path), H100), count(path))
    assert {v.status for v in made} == {"not_checked"}
    assert "1 lax.dot_general" in made[0].reason
