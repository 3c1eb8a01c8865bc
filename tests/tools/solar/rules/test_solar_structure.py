"""What structure lowers: counted one by one in loops, or by a published closed form, and never by the rule itself."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds
from enlist.tools.solar.rules.triangles import pairs

Capture = Callable[..., Graph]
(PCIE,) = resolve(["H100 PCIe"])
SHAPES = {
    "dense": lambda n: np.ones(n), "upper": lambda n: np.triu(np.ones(n)), "lower": lambda n: np.tril(np.ones(n)),
    "diagonal": lambda n: np.eye(*n), "zero": lambda n: np.zeros(n)}


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), st.sampled_from(sorted(SHAPES)),
       st.sampled_from(sorted(SHAPES)))
def test_multiply_adds_of_structured_operands_are_those_that_a_loop_counts(m: int, k: int, n: int, left: str,
                                                                           right: str) -> None:
    a, b = SHAPES[left]((m, k)), SHAPES[right]((k, n))
    counted = sum(bool(a[i, x] and b[x, j]) for i, x, j in product(range(m), range(k), range(n)))
    assert pairs(m, k, n, left, right) == counted


def test_two_upper_triangles_take_a_sixth() -> None:
    n = 50
    assert pairs(n, n, n, "upper", "upper") == n * (n + 1) * (n + 2) // 6


def flop(made: Bounds) -> int:
    return sum(made.matrix_flop.values())


@pytest.mark.parametrize(("forward", "inputs", "multiply_adds"), [
    ("torch.triu(a) @ torch.triu(b)", "torch.rand(6, 6), torch.rand(6, 6)", 6 * 7 * 8 // 6),
    ("torch.tril(a) @ b", "torch.rand(6, 6), torch.rand(6, 4)", 21 * 4),
    ("torch.triu(a).t() @ torch.tril(b)", "torch.rand(6, 6), torch.rand(6, 6)", 6 * 7 * 8 // 6),
    ("torch.zeros(3, 6) @ a", "torch.rand(6, 4)", 0),
    ("torch.tril(a @ b)", "torch.rand(6, 5), torch.rand(5, 6)", 21 * 5),
    ("torch.tril(torch.tril(a) @ b)", "torch.rand(6, 6), torch.rand(6, 6)",
     sum(k <= i and j <= i for i, k, j in product(range(6), repeat=3))),
    ("torch.ones(50, 6) @ a", "torch.rand(6, 4)", 0),  # sums of columns, no products
    ("torch.relu(torch.tril(a)) @ torch.tril(b)", "torch.rand(6, 6), torch.rand(6, 6)", 6 * 7 * 8 // 6),
    ("(torch.tril(a) + 1) @ b", "torch.rand(6, 6), torch.rand(6, 4)", 6 * 6 * 4),  # adding fills the zeros
    ("(a @ b)[-1:]", "torch.rand(6, 20), torch.rand(20, 4)", 20 * 4),
    ("(a @ b)[:, -1:]", "torch.rand(6, 20), torch.rand(20, 4)", 6 * 20),
])
def test_a_product_counts_what_its_operands_and_its_readers_leave(graph_of: Capture, forward: str, inputs: str,
                                                                  multiply_adds: int) -> None:
    assert flop(bounds(graph_of(forward, inputs), [PCIE])) == 2 * multiply_adds


def test_a_diagonal_scales_each_element_once(graph_of: Capture) -> None:
    made = bounds(graph_of("torch.diag(a) @ b", "torch.rand(6), torch.rand(6, 4)"), [PCIE])
    assert flop(made) == 0 and sum(made.flop.values()) == 6 * 4


@pytest.mark.parametrize("inputs", ["torch.triu(torch.rand(6, 6)), torch.triu(torch.rand(6, 6))",
                                    "torch.rand(6, 6).triu(), torch.tril(torch.rand(6, 6)).t()"])
def test_structure_of_example_inputs_is_said_to_be_assumed(model_file: Callable[..., object], inputs: str) -> None:
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, a, b):\n"
            f"        return a @ b\ndef get_inputs():\n    return [{inputs}]\n")
    path = model_file(text=text)
    made = bounds(capture(path), [PCIE])
    assert flop(made) == 2 * 6 * 7 * 8 // 6
    assert any("structure of a, b: assumed from example" in line for line in made.assumed)
    assert flop(bounds(capture(path, structure=False), [PCIE])) == 2 * 6**3


def test_values_that_are_drawn_in_place_have_no_structure(model_file: Callable[..., object]) -> None:
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.w = nn.Parameter(torch.zeros(6, 6))\n"
            "        nn.init.normal_(self.w)\n    def forward(self, a):\n        return a @ self.w\n"
            "def get_inputs():\n    return [torch.rand(6, 6)]\n")
    assert flop(bounds(capture(model_file(text=text)), [PCIE])) == 2 * 6**3


@pytest.mark.parametrize(("mask", "pairs_seen"), [
    ("(i[:, None] >= i[None, :]) & (i[:, None] - i[None, :] < 3)",
     sum(0 <= q - k < 3 for q in range(9) for k in range(9))),
    ("i[:, None] >= i[None, :]", 45), ("(i[:, None] - i[None, :]).abs() <= 1", 9 + 2 * 8)])
def test_a_mask_made_of_positions_is_counted(model_file: Callable[..., object], mask: str, pairs_seen: int) -> None:
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nimport torch.nn.functional as F\nclass Model(nn.Module):\n"
            "    def forward(self, q, k, v):\n        i = torch.arange(9)\n"
            f"        return F.scaled_dot_product_attention(q, k, v, attn_mask={mask})\n"
            "def get_inputs():\n    return [torch.rand(2, 4, 9, 8) for _ in range(3)]\n")
    made = bounds(capture(model_file(text=text)), [PCIE])
    assert flop(made) == 2 * 4 * pairs_seen * 2 * 2 * 8 and not any("every pair" in line for line in made.assumed)


BAND = "((i[:, None] >= i) & (i[:, None] - i < 3))"
SEEN_IN_BAND = sum(0 <= q - k < 3 for q in range(9) for k in range(9))


@pytest.mark.parametrize(("masked", "seen"), [
    ("s.masked_fill(torch.tril(torch.ones(9, 9)) == 0, float('-inf'))", 45),
    ("s.masked_fill(torch.triu(torch.ones(9, 9), 1).bool(), -1e9)", 45),
    ("torch.where(torch.ones(9, 9).tril().bool(), s, float('-inf'))", 45),
    ("torch.where(torch.ones(9, 9).tril().bool(), s, torch.full((), -1e9))", 45),
    ("s + torch.triu(torch.full((9, 9), float('-inf')), 1)", 45),
    ("s + nn.Transformer.generate_square_subsequent_mask(9)", 45),
    ("s + torch.zeros(9, 9).masked_fill(~torch.ones(9, 9).tril().bool(), float('-inf'))", 45),
    (f"s.masked_fill(~{BAND}, float('-inf'))", SEEN_IN_BAND),
    (f"torch.where({BAND}, s, float('-inf'))", SEEN_IN_BAND),
    (f"s + torch.zeros(9, 9).masked_fill(~{BAND}, float('-inf'))", SEEN_IN_BAND),
    ("s + i.float()", 81), ("s.masked_fill(s > 0, float('-inf'))", 81),
])
def test_attention_written_out_counts_what_its_mask_lets_through_twice(model_file: Callable[..., object], masked: str,
                                                                       seen: int) -> None:
    """Scores are needed, and weights not zero, for these pairs only: both products have as many."""
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, q, k, v):\n"
            "        i = torch.arange(9)\n        s = q @ k.transpose(-2, -1) / 3\n"
            f"        s = {masked}\n        return s.softmax(-1) @ v\n"
            "def get_inputs():\n    return [torch.rand(2, 4, 9, 8) for _ in range(3)]\n")
    assert flop(bounds(capture(model_file(text=text)), [PCIE])) == 2 * (2 * 4) * seen * 8 * 2


def test_a_mask_that_a_module_holds_is_counted(model_file: Callable[..., object]) -> None:
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.register_buffer('past', torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))\n"
            "        self.register_buffer('future', torch.triu(torch.ones(9, 9), 1).bool())\n"
            "    def forward(self, q, k, v):\n        s = q @ k.mT\n"
            "        one = s.masked_fill(self.past[:, :, :9, :9] == 0, float('-inf')).softmax(-1) @ v\n"
            "        return one, s.masked_fill(self.future, float('-inf')).softmax(-1) @ v\n"
            "def get_inputs():\n    return [torch.rand(2, 4, 9, 8) for _ in range(3)]\n")
    assert flop(bounds(capture(model_file(text=text)), [PCIE])) == 2 * (2 * 4) * 45 * 8 * 3


@pytest.mark.parametrize(("weights", "seen"), [("relu()", 45), ("sigmoid()", 45), ("exp()", 45), ("tanh()", 81),
                                               ("neg()", 81)])
def test_hidden_scores_weigh_nothing_where_the_function_is_zero(graph_of: Capture, weights: str, seen: int) -> None:
    """Of two products the first is cut by the mask, the second only where hidden scores become zero."""
    masked = f"(a @ b.mT).masked_fill(torch.ones(9, 9).triu(1) == 1, float('-inf')).{weights} @ b"
    made = bounds(graph_of(masked, "torch.rand(2, 9, 8), torch.rand(2, 9, 8)"), [PCIE])
    assert flop(made) == 2 * 2 * 8 * (45 + seen)


def test_segment_sums_make_a_lower_triangle(model_file: Callable[..., object]) -> None:
    """As in state space models: exp of -inf above the diagonal, times a matrix."""
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def forward(self, a, x):\n"
            "        c = a.cumsum(-1)\n        s = c[..., :, None] - c[..., None, :]\n"
            "        s = s.masked_fill(~torch.tril(torch.ones(9, 9, dtype=torch.bool)), float('-inf'))\n"
            "        return s.exp() @ x\n"
            "def get_inputs():\n    return [torch.rand(2, 9), torch.rand(2, 9, 5)]\n")
    assert flop(bounds(capture(model_file(text=text)), [PCIE])) == 2 * 2 * 45 * 5


@pytest.mark.parametrize("expression", [
    "a.triu().expand(6, 6, 6).transpose(0, 1) @ b", "a.triu().expand(6, 6, 6).select(2, 1) @ b",
    "a.triu()[::2, ::2] @ b[:3]",
    "a.triu()[1:, :5] @ b[:5]", "(a.triu() + b) @ b", "a.triu().flip(0) @ b", "F.linear(a.triu(), b, b[0]) @ b[:, :1]",
    "(a[:1].tril() * b) @ b", "a.triu().cos() @ b"])
def test_structure_that_is_lost_is_not_claimed(graph_of: Capture, expression: str) -> None:
    graph = graph_of(expression, "torch.rand(6, 6), torch.rand(6, 6)")
    last = [t for t in bounds(graph, [PCIE]).devices[0].terms if t.op in ("matmul", "linear")][-1]
    assert not {"upper", "lower", "structure"} & set(last.less.split()) and last.flop > 0


ONE_BY_ONE = "sum(torch.zeros(64, 32) + {} for e in range(8))"
ALL = "torch.einsum('td,edf->etf', x, self.up)"


@pytest.mark.parametrize("combined", [
    f"({ALL} * torch.zeros(64, 8).scatter(1, sel, top).t().unsqueeze(-1)).sum(0)",
    f"({ALL} * (F.one_hot(sel, 8) * top[..., None]).sum(1).t()[..., None]).sum(0)",
    ONE_BY_ONE.format("(x @ self.up[e]) * (top * (sel == e)).sum(-1, keepdim=True)"),
    ONE_BY_ONE.format("torch.where((sel == e).any(-1)[:, None], x @ self.up[e], 0.)"),
    ONE_BY_ONE.format("(x @ self.up[e]).masked_fill(~(sel == e).any(-1)[:, None], 0.)")])
def test_experts_behind_closed_gates_do_nothing(model_file: Callable[..., object], combined: str) -> None:
    """Each token chooses two experts of eight, however the choice is written."""
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\nclass Model(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.up = nn.Parameter(torch.rand(8, 17, 32))\n"
            f"    def forward(self, x, r):\n        top, sel = r.topk(2, dim=-1)\n        return {combined}\n"
            "def get_inputs():\n    return [torch.rand(64, 17), torch.rand(64, 8)]\n")
    assert flop(bounds(capture(model_file(text=text)), [PCIE])) == 2 * 64 * 2 * 17 * 32


def test_only_the_last_position_is_worked_on_where_only_it_is_used(model_file: Callable[..., object]) -> None:
    from enlist.tools.solar.pytorch.capture import capture

    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 100)\n"
            "    def forward(self, x):\n        return self.head(self.norm(x))[:, -1]\n"
            "def get_inputs():\n    return [torch.rand(2, 50, 16)]\n")
    assert flop(bounds(capture(model_file(text=text)), [PCIE])) == 2 * 2 * 16 * 100
