"""The same program in JAX and in PyTorch: the same FLOP by roof, evaluations of special functions and bytes."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds

H100 = resolve(["H100 PCIe"])
SAME = [  # JAX, PyTorch, shapes of a, b, ...
    ("jnp.exp(a)", "torch.exp(a)", (8, 32)),
    ("jnp.log(a)", "torch.log(a)", (8, 32)),
    ("jnp.tanh(a)", "torch.tanh(a)", (8, 32)),
    ("lax.erf(a)", "torch.erf(a)", (8, 32)),
    ("lax.rsqrt(a) + jnp.sqrt(a)", "torch.rsqrt(a) + torch.sqrt(a)", (8, 32)),
    ("jnp.sin(a) * jnp.cos(a)", "torch.sin(a) * torch.cos(a)", (8, 32)),
    ("jax.nn.sigmoid(a)", "torch.sigmoid(a)", (8, 32)),
    ("jax.nn.silu(a)", "F.silu(a)", (8, 32)),
    ("jax.nn.relu(a)", "F.relu(a)", (8, 32)),
    ("a**3", "a**3", (8, 32)),
    ("jnp.abs(-a)", "torch.abs(-a)", (8, 32)),
    ("jnp.clip(a, 0.1, 0.9)", "torch.clamp(a, 0.1, 0.9)", (8, 32)),
    ("a / 3", "a / 3", (8, 32)),
    ("a / b", "a / b", (8, 32), (8, 32)),
    ("a / b", "a / b", (8, 32), (8, 1)),
    ("a - b * a", "a - b * a", (8, 32), (32,)),
    ("jnp.maximum(a, b)", "torch.maximum(a, b)", (8, 32), (8, 32)),
    ("jnp.exp(a) + jnp.exp(a)", "torch.exp(a) + torch.exp(a)", (8, 32)),
    ("a.sum(-1)", "a.sum(-1)", (8, 32)),
    ("a.mean(0)", "a.mean(0)", (8, 32)),
    ("a.max(-1)", "a.amax(-1)", (8, 32)),
    ("jnp.cumsum(a, -1)", "torch.cumsum(a, -1)", (8, 32)),
    ("jnp.exp(jnp.broadcast_to(b, a.shape)) + a", "torch.exp(b.expand(8, 32)) + a", (8, 32), (8, 1)),
    ("a.T + b", "a.T + b", (8, 32), (32, 8)),
    ("jnp.concatenate([a, b], -1)", "torch.cat([a, b], -1)", (8, 32), (8, 16)),
    ("jnp.where(a > b, a, b)", "torch.where(a > b, a, b)", (8, 32), (8, 32)),
    ("jnp.exp(a - a.max(-1, keepdims=True))", "torch.exp(a - a.amax(-1, keepdim=True))", (8, 32)),
]


def of_both(jax_text: str, torch_text: str, shapes: tuple[tuple[int, ...], ...], graph_of_jax: Callable[..., Graph],
            graph_of: Callable[..., Graph]) -> list[tuple[dict[str, int], int, int]]:
    names = ", ".join("abcd"[: len(shapes)])
    inputs = ", ".join(f"torch.rand({s})" for s in shapes)
    ours = graph_of_jax(f"fn = lambda {names}: {jax_text}", *map(str, shapes))
    theirs = graph_of(text=(
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
        f"    def forward(self, {names}):\n        return {torch_text}\n\n\ndef get_inputs():\n    return [{inputs}]\n"
        "\n\ndef get_init_inputs():\n    return []\n"))
    made = [bounds(graph, H100) for graph in (ours, theirs)]
    return [(dict(b.flop), b.special, b.fused_bytes) for b in made]


@pytest.mark.parametrize("case", SAME, ids=[c[0] for c in SAME])
def test_the_same_program_costs_the_same(case: tuple[str, str, tuple[int, ...]], graph_of_jax: Callable[..., Graph],
                                         graph_of: Callable[..., Graph]) -> None:
    ours, theirs = of_both(case[0], case[1], case[2:], graph_of_jax, graph_of)
    assert ours == theirs
