"""A call is recorded as eager PyTorch runs it: writes, views, constants, devices, and what only some models do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds

Of = Callable[..., Graph]
A = "torch.rand(4, 8)"


def ops(graph: Graph) -> list[str]:
    """Operators that are not views."""
    return [n.op for n in graph.nodes if not all(graph.by_id[t].alias_of for t in n.outputs) or "scatter" in n.op]


def moved(graph: Graph) -> int:
    return bounds(graph, resolve(["H100 PCIe"])).fused_bytes


def body(*lines: str, head: str = "", inputs: str = A, init: str = "pass") -> str:
    text = "\n        ".join(lines)
    return (f"import torch\nfrom torch import nn\n{head}\nclass Model(nn.Module):\n    def __init__(self):\n"
            f"        super().__init__()\n        {init}\n    def forward(self, a):\n        {text}\n"
            f"def get_inputs():\n    return [{inputs}]\n")


def test_a_cache_is_written_where_it_lies_and_read_whole(graph_of: Of) -> None:
    graph = graph_of(text=body("self.k[:, 5:6] = a", "return self.k.sum(1)", inputs="torch.rand(2, 1, 16)",
                               init="self.register_buffer('k', torch.zeros(2, 64, 16))"))
    assert ops(graph) == ["slice_scatter", "sum"]
    new, cache, out = 2 * 16 * 4, 2 * 64 * 16 * 4, 2 * 16 * 4
    assert moved(graph) == new + (cache - new) + new + out  # the new row is not read back from the cache


def test_a_write_through_a_view_is_seen_by_the_whole_and_by_other_views(graph_of: Of) -> None:
    graph = graph_of(text=body("b = a.clone()", "row = b[0]", "b[:, :2].mul_(3)", "return row, b"))
    wrote = next(n for n in graph.nodes if n.op == "mul")
    after = graph.nodes[graph.nodes.index(wrote) + 1:]
    outputs = [t.id for t in graph.tensors if t.is_output]
    assert len(outputs) == 2 and {t for n in after for t in n.outputs} >= set(outputs)
    assert {graph.root(t) for t in outputs} == {"clone"}


@pytest.mark.parametrize(("line", "made"), [
    ("return a.relu_()", ["relu"]), ("return torch.add(a, 1, out=torch.empty(4, 8))", ["add"]),
    ("return a.clone().zero_()", ["zeros_like"]), ("return nn.functional.dropout(a, 0.5, False)", []),
    ("return a.to('cuda').cuda().cpu().to(device='cuda:1', dtype=torch.float32) * 2", ["mul"]),
    ("return a + torch.ones(8, device='cuda')", ["ones", "add"]),
    ("self.seen = a * 2; return self.seen", ["mul"]), ("return torch.compile(lambda x: x.sin())(a)", ["sin"]),
    ("b = a + 1; c = b.exp(); return b", ["add"])])
def test_what_runs_is_recorded_and_no_more(graph_of: Of, line: str, made: list[str]) -> None:
    assert ops(graph_of(text=body(line))) == made


@pytest.mark.parametrize("line", [
    "return a[:, :int(torch.tensor([2, 3]).sum())]", "return a[:, :5] if torch.arange(3)[1] == 1 else a",
    "return a[:, :torch.arange(6).tolist()[-1]]", "return a[:, torch.ones(8).bool()][:, :5]",
    "x = torch.zeros(3); x[1] = 5; return a[:, :int(x.max())]"])
def test_numbers_that_follow_from_constants_are_known(graph_of: Of, line: str) -> None:
    assert [t.shape for t in graph_of(text=body(line)).tensors if t.is_output] == [(4, 5)]


@pytest.mark.parametrize("line", [
    "return a[:int(a.sum())]", "return a.flatten().unique() if False else a[a > 0]", "return a.long().unique()",
    "return a if a.any() else -a", "x = torch.zeros(3); x[1] = a.sum(); return a[:, :int(x.max())]"])
def test_what_depends_on_data_is_refused_with_line_and_way_around(graph_of: Of, line: str) -> None:
    with pytest.raises(EnlistError) as fault:
        graph_of(text=body(line))
    assert fault.value.code == "unsupported" and "model.py:9" in (fault.value.given or "")
    assert "torch.where" in (fault.value.fix or "")


def test_an_operator_without_shapes_is_named(graph_of: Of) -> None:
    with pytest.raises(EnlistError, match="_to_sparse") as fault:
        graph_of(text=body("return torch.sparse.mm(a.to_sparse(), a.t())"))
    assert fault.value.code == "unsupported" and "register_fake" in (fault.value.fix or "")


def test_what_a_file_sets_for_all_of_pytorch_ends_with_its_capture(graph_of: Of) -> None:
    import torch

    before = torch.get_default_dtype()
    graph = graph_of(text=body("return a + 1", head="torch.set_default_dtype(torch.float64)\n"
                                                    "torch.set_default_device('cuda')"))
    assert graph.by_id["a"].dtype == "float64" and torch.get_default_dtype() == before


def test_a_gradient_inside_the_forward_pass_is_followed(graph_of: Of) -> None:
    graph = graph_of(text=body("a = a.requires_grad_()", "return torch.autograd.grad((a @ a.t()).sum(), a)[0]"))
    assert sum(n.op in ("mm", "matmul") for n in graph.nodes) == 3


def test_narrow_weights_keep_their_bytes(graph_of: Of) -> None:
    graph = graph_of(text=body("w = torch.stack([self.w & 15, self.w >> 4], -1).view(8, 64).to(torch.bfloat16)",
                               "return a.to(torch.bfloat16) @ (w * self.s)", init=(
        "self.register_buffer('w', torch.zeros(8, 32, dtype=torch.uint8)); "
        "self.register_buffer('s', torch.ones(64, dtype=torch.bfloat16))")))
    held = {t.name: t.nbytes(t.distinct) for t in graph.tensors if t.role == "buffer"}
    assert held == {"w": 256, "s": 128}


def test_tied_parameters_are_one_tensor(graph_of: Of) -> None:
    graph = graph_of(text=body("return self.o(self.e(a.long()))", init=(
        "self.e = nn.Embedding(9, 8); self.o = nn.Linear(8, 9, bias=False); self.o.weight = self.e.weight")))
    assert [t.name for t in graph.tensors if t.role == "parameter"] == ["e.weight"]


def test_a_module_may_print_and_the_graph_is_the_same(graph_of: Of, capsys: pytest.CaptureFixture[str]) -> None:
    graph = graph_of(text=body("print('{not: a graph}')", "return a + 1"))
    assert ops(graph) == ["add"] and "not: a graph" in capsys.readouterr().out


def test_strides_that_change_in_place_move_nothing(graph_of: Of) -> None:
    assert ops(graph_of(text=body("b = a + 1", "b.unsqueeze_(0).transpose_(1, 2)", "return b"))) == ["add"]


@pytest.mark.slow  # importing flex_attention alone takes seconds
@pytest.mark.parametrize(("mask", "op", "causal"), [
    ("None", "scaled_dot_product_attention", False),
    ("create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128)", "scaled_dot_product_attention", True),
    ("create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < 16), None, None, 128, 128)", "flex_attention", False)])
def test_a_mask_of_positions_is_counted(graph_of: Of, mask: str, op: str, causal: bool) -> None:
    graph = graph_of(text=body(f"return flex_attention(a, a, a, block_mask={mask})", inputs="torch.rand(1, 2, 128, 16)",
                               head="from torch.nn.attention.flex_attention import create_block_mask, flex_attention"))
    (node,) = [n for n in graph.nodes if n.op == op]
    assert bool(node.attributes.get("is_causal")) == causal
    if op == "flex_attention":
        assert node.attributes["visible"] == 2 * sum(min(row + 1, 16) for row in range(128))


def test_a_fault_in_a_module_beside_the_file_names_its_own_line(
        graph_of: Of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_layers.py").write_text("def chosen(x):\n    return x if x.sum() > 0 else -x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(EnlistError) as fault:
        graph_of(text=body("return chosen(a)", head="from own_layers import chosen"))
    assert fault.value.given == "own_layers.py:2: return x if x.sum() > 0 else -x"
