"""Every operator's FLOP and bytes against a closed form or brute force, through the real capture."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds
from enlist.tools.solar.pytorch.capture import capture

INPUTS = {
    "a": "torch.rand(4, 8)", "b": "torch.rand(8, 6)", "v": "torch.rand(8)", "w": "torch.rand(6, 8)",
    "s": "torch.rand(6)", "x": "torch.rand(2, 3, 8)", "y": "torch.rand(2, 8, 5)", "line": "torch.rand(2, 4, 9)",
    "img": "torch.rand(2, 4, 9, 9)", "vol": "torch.rand(1, 2, 5, 5, 5)", "k1": "torch.rand(6, 4, 3)",
    "k2": "torch.rand(6, 2, 3, 3)", "k3": "torch.rand(3, 2, 2, 2, 2)", "kt": "torch.rand(4, 3, 3, 3)",
    "q": "torch.rand(2, 4, 6, 8)", "k": "torch.rand(2, 4, 6, 8)", "k5": "torch.rand(2, 4, 5, 8)",
    "kv": "torch.rand(2, 2, 6, 8)", "k9": "torch.rand(2, 4, 9, 8)", "c": "torch.rand(4)",
    "table": "torch.rand(10, 8)", "ids": "torch.randint(0, 10, (2, 3))", "many": "torch.randint(0, 10, (50,))",
    "m": "torch.rand(4, 8) > 0", "n": "torch.randint(0, 9, (4, 8))", "at": "torch.randint(0, 8, (4, 3))",
    "h": "torch.rand(4, 8).to(torch.bfloat16)", "row": "torch.rand(1, 8)",
}
A = 32  # elements of `a`


def taps(length: int, windows: int, kernel: int, stride: int, padding: int, dilation: int = 1) -> int:
    """Taps that fall inside, by looking at each."""
    return sum(0 <= w * stride - padding + t * dilation < length for w, t in product(range(windows), range(kernel)))


@dataclass(frozen=True)
class Case:
    """An expression over the inputs, its FLOP and the elements of four bytes (or `size`) that it moves."""

    name: str
    expression: str
    flop: int
    bytes: int
    special: int = 0  # evaluations of exp, tanh, roots, reciprocals


def unary(name: str, expression: str, flop: int, special: int = 0) -> Case:
    return Case(name, expression, flop * A, 2 * A * 4, special * A)


MM = 2 * 4 * 8 * 6
CASES = [
    Case("mm", "a @ b", MM, (32 + 48 + 24) * 4),
    Case("linear", "F.linear(a, w, s)", MM, (32 + 48 + 6 + 24) * 4),
    Case("linear_no_bias", "F.linear(x, w)", 2 * 6 * 8 * 6, (48 + 48 + 36) * 4),
    Case("addmm", "torch.addmm(s, a, b)", MM, (6 + 32 + 48 + 24) * 4),
    Case("bmm", "torch.bmm(x, y)", 2 * 2 * 3 * 8 * 5, (48 + 80 + 30) * 4),
    Case("baddbmm", "torch.baddbmm(torch.bmm(x, y), x, y)", 2 * 480, (158 + 158 + 30) * 4),
    Case("einsum", "torch.einsum('bij,bjk->bik', x, y)", 480, (48 + 80 + 30) * 4),
    Case("matmul_broadcast", "x @ b", 2 * 6 * 8 * 6, (48 + 48 + 36) * 4),
    Case("matmul_bf16", "h @ h.t()", 2 * 10 * 8, (32 + 16) * 2),
    Case("mv", "torch.mv(a, v)", 2 * 32, (32 + 8 + 4) * 4),
    Case("dot", "torch.dot(v, v)", 16, (8 + 1) * 4),
    Case("conv1d", "F.conv1d(line, k1)", 2 * 2 * 6 * 4 * 7 * 3, (72 + 72 + 84) * 4),
    Case("conv2d_grouped_strided", "F.conv2d(img, k2, stride=2, groups=2)", 2 * 2 * 6 * 2 * (4 * 3) ** 2,
         (648 + 108 + 192) * 4),
    Case("conv2d_padded_dilated", "F.conv2d(img, k2, padding=2, dilation=2, groups=2)",
         2 * 2 * 6 * 2 * taps(9, 9, 3, 1, 2, 2) ** 2, (648 + 108 + 972) * 4),
    Case("conv2d_skipping", "F.conv2d(img, k2[:, :, :1, :1], stride=3, groups=2)", 2 * 2 * 6 * 2 * 9,
         (2 * 4 * 9 + 12 + 2 * 6 * 9) * 4),
    Case("conv3d", "F.conv3d(vol, k3)", 2 * 3 * 2 * (4 * 2) ** 3, (250 + 48 + 192) * 4),
    Case("conv_same", "F.conv1d(line, k1, padding='same')", 2 * 2 * 6 * 4 * taps(9, 9, 3, 1, 1), (72 + 72 + 108) * 4),
    Case("conv_transpose2d", "F.conv_transpose2d(img, kt, stride=2, padding=1)",
         2 * 2 * 4 * 3 * taps(17, 9, 3, 2, 1) ** 2, (648 + 108 + 2 * 3 * 17 * 17) * 4),
    Case("attention", "F.scaled_dot_product_attention(q, k, k)", 8 * 36 * (2 * 16 + 3), (384 * 2 + 384) * 4, 8 * 36),
    Case("attention_causal", "F.scaled_dot_product_attention(q, k, k, is_causal=True)", 8 * 21 * 35, 3 * 384 * 4,
         8 * 21),
    Case("attention_causal_fewer_keys", "F.scaled_dot_product_attention(q, k5, k5, is_causal=True)",
         8 * 20 * 35, (384 + 320 + 384) * 4, 8 * (1 + 2 + 3 + 4 + 5 + 5)),
    Case("attention_causal_more_keys", "F.scaled_dot_product_attention(q, k9, k9, is_causal=True)",
         8 * 21 * 35, (384 + 384 + 384) * 4, 8 * 21),  # keys 6..8 are never seen
    Case("attention_grouped", "F.scaled_dot_product_attention(q, kv, kv, enable_gqa=True)", 8 * 36 * 35,
         (384 + 192 + 384) * 4, 8 * 36),
    Case("layer_norm", "F.layer_norm(a, (8,), v, v)", 7 * A, (64 + 8) * 4, 4),
    Case("rms_norm", "F.rms_norm(a, (8,), v)", 4 * A, (64 + 8) * 4, 4),
    Case("group_norm", "F.group_norm(img, 2, c, c)", 5 * 648, (2 * 648 + 4) * 4, 2 * 2),
    Case("batch_norm", "F.batch_norm(img, c, c)", 2 * 648, (2 * 648 + 4) * 4),
    Case("softmax", "a.softmax(-1)", 4 * A - 8, 64 * 4, A + 4),
    Case("log_softmax", "a.log_softmax(-1)", 4 * A - 8, 64 * 4, A + 4),
    unary("tanh", "a.tanh()", 0, 1), unary("relu", "a.relu()", 1), unary("exp", "a.exp()", 0, 1),
    unary("sqrt", "a.sqrt()", 0, 1), unary("rsqrt", "a.rsqrt()", 0, 1), unary("cube", "a ** 3", 2),
    unary("root", "a ** 0.5", 0, 1), unary("square", "a ** 2", 1), unary("inverse", "a ** -1.0", 0, 1),
    unary("gelu", "F.gelu(a)", 4, 1), unary("silu", "F.silu(a)", 3, 1), unary("sigmoid", "a.sigmoid()", 2, 1),
    unary("add_scalar", "a + 1", 1), unary("clamp", "a.clamp(0, 1)", 2), unary("times_itself", "a * a", 1),
    Case("add", "a + 2 * a.t().t()", 2 * A, 4 * A * 4 + A * 4),
    Case("sub_broadcast", "a - row", A, (64 + 8) * 4), Case("div", "a / v", A, (64 + 8) * 4, 8),
    Case("mul_expanded", "a * row.expand(4, 8)", A, (64 + 8) * 4),
    Case("where", "torch.where(m, a, 0.0)", 0, 32 + 64 * 4),
    Case("masked_fill", "a.masked_fill(m, 0.0)", 0, 32 + 64 * 4),
    Case("greater", "a > 0", A, 32 * 4 + 32), Case("cast", "a.to(torch.bfloat16)", 0, 32 * 4 + 32 * 2),
    Case("sum", "a.sum()", A - 1, 33 * 4), Case("mean", "a.mean(0)", A, 40 * 4),
    Case("amax", "a.amax(1)", A - 4, 36 * 4),
    Case("argmax", "a.argmax(1)", A - 4, 32 * 4 + 4 * 8), Case("var", "a.var(1)", 4 * (3 * 8 - 1), 36 * 4),
    Case("cumsum", "a.cumsum(0)", A - 8, 64 * 4), Case("norm", "torch.linalg.vector_norm(a)", 2 * A - 1, 33 * 4, 1),
    Case("cat", "torch.cat([a, row])", 0, (32 + 8 + 40) * 4), Case("stack", "torch.stack([a, a])", 0, (32 + 64) * 4),
    Case("pad", "F.pad(a, (1, 1))", 0, (32 + 40) * 4), Case("triu", "torch.triu(a)", 0, (8 + 7 + 6 + 5 + 32) * 4),
    Case("tril", "torch.tril(a, -1)", 0, (0 + 1 + 2 + 3 + 32) * 4),
    Case("transposed_copy", "a.t().contiguous()", 0, 64 * 4), Case("slice_copy", "a[:, ::2].clone()", 0, 32 * 4),
    Case("embedding", "F.embedding(ids, table)", 0, 6 * 8 + (48 + 48) * 4),
    Case("embedding_repeats", "F.embedding(many, table)", 0, 50 * 8 + (80 + 400) * 4),
    Case("gather", "a.gather(1, at)", 0, (12 + 12) * 4 + 12 * 8),
    Case("index_select", "table.index_select(0, ids.view(-1))", 0, 6 * 8 + 96 * 4),
    Case("max_pool", "F.max_pool2d(img, 3)", 72 * 8, (648 + 72) * 4),
    Case("avg_pool_skipping", "F.avg_pool1d(line, 1, stride=4)", 0, (24 + 24) * 4),
    Case("adaptive_pool", "F.adaptive_avg_pool2d(img, (3, 3))", 648, (648 + 72) * 4),
    Case("logical_and", "torch.logical_and(m, m.t().t())", 0, 2 * 32), Case("int_add", "n + 1", 0, 2 * 32 * 8),
    Case("halves", "torch.add(*a.chunk(2, 1))", 16, (32 + 16) * 4), Case("arange", "torch.arange(7)", 0, 56),
    Case("write_slice", "torch.slice_scatter(a, a[:, :2] + 1, 1, 0, 2)", 8, (8 + 8 + 8 + 8) * 4),
    Case("views", "a.view(2, 16).t().unsqueeze(0).expand(3, 16, 2)", 0, 0),
    Case("dropout", "F.dropout(a, 0.5, False)", 0, 0),
]


def model_text() -> str:
    names = ", ".join(INPUTS)
    cases = "".join(f"class C_{c.name}(nn.Module):\n    def forward(self, {names}):\n"
                    f"        return {c.expression}\n\n\n" for c in CASES)
    made = ", ".join(f"{c.name!r}: C_{c.name}()" for c in CASES)
    return ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n" + cases +
            f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        self.cases = nn.ModuleDict({{{made}}})\n\n    def forward(self, *all):\n"
            f"        return [case(*all) for case in self.cases.values()]\n\n\n"
            f"def get_inputs():\n    return [{', '.join(INPUTS.values())}]\n")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path: Path = tmp_path_factory.mktemp("cases") / "cases.py"
    path.write_text(model_text(), encoding="utf-8")
    return capture(path)


@pytest.fixture(scope="module")
def all_bounds(graph: Graph) -> Bounds:
    return bounds(graph, resolve(["A100 SXM 80GB"]))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_an_operator_does_what_its_closed_form_says(case: Case, graph: Graph) -> None:
    terms = bounds(part(graph, f"cases.{case.name}"), resolve(["A100 SXM 80GB"])).devices[0].terms
    counted = (sum(t.flop for t in terms), sum(t.bytes for t in terms), sum(t.special for t in terms))
    assert counted == (case.flop, case.bytes, case.special)


def test_every_operator_of_the_table_is_modelled(all_bounds: Bounds) -> None:
    assert all_bounds.unmodelled == ()


def part(graph: Graph, where: str) -> Graph:
    """The part of a graph inside one module, as a graph of its own."""
    nodes = tuple(n for n in graph.nodes if n.where == where)
    wanted = {t for n in nodes for t in (*n.inputs, *n.outputs)}
    while bases := {b for t in wanted if (b := graph.by_id[t].alias_of) is not None} - wanted:
        wanted |= bases
    return Graph(target=where, nodes=nodes, assumed=(), tensors=tuple(t for t in graph.tensors if t.id in wanted))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_fusing_never_takes_longer(case: Case, graph: Graph) -> None:
    for one in bounds(part(graph, f"cases.{case.name}"), resolve(["A100 SXM 80GB", "H100"])).devices:
        assert 0 <= one.fused_s <= one.unfused_s


def test_torchs_own_counter_agrees_where_it_is_right(graph: Graph) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    right = ["mm", "linear", "addmm", "bmm", "einsum", "matmul_broadcast", "conv1d",
             "conv2d_grouped_strided", "conv3d"]
    made: dict[str, object] = {}
    exec(model_text(), made)
    with torch.device("meta"):
        inputs = made["get_inputs"]()  # type: ignore[operator]
    for name in right:
        with FlopCounterMode(display=False) as counter:
            made[f"C_{name}"]()(*inputs)  # type: ignore[operator]
        ours = sum(t.flop for t in bounds(part(graph, f"cases.{name}"), resolve(["A100 SXM 80GB"])).devices[0].terms)
        assert ours == counter.get_total_flops() > 0, name
