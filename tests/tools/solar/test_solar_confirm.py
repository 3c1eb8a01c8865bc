"""The second count agrees with the first where both are right, and catches a wrong graph."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.solar.confirm import Verdict, verdicts
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.pytorch.check import Count, count
from enlist.tools.solar.report.amounts import duration

DEVICES = resolve(["A100 SXM 80GB", "H100"])
FOUR = ", ".join(["torch.rand(2, 4, 64, 32)"] * 3)


def both(path: Path) -> list[Verdict]:
    return verdicts(bounds(capture(path), DEVICES), count(path))


def test_every_bound_of_gpt2_is_confirmed(gpt2: Graph, gpt2_count: Count) -> None:
    made = verdicts(bounds(gpt2, DEVICES), gpt2_count)
    assert len(made) == 6 and {v.status for v in made} == {"confirmed"}


@pytest.mark.parametrize(("forward", "inputs"), [
    ("F.conv2d(a, b, padding=1, stride=2)", "torch.rand(8, 16, 31, 31), torch.rand(32, 16, 3, 3)"),
    ("F.conv_transpose2d(a, b, padding=1, stride=2)", "torch.rand(8, 16, 31, 31), torch.rand(16, 8, 3, 3)"),
    ("F.scaled_dot_product_attention(a, b, c, is_causal=True)", FOUR),
    ("F.scaled_dot_product_attention(a, b, b, enable_gqa=True)", "torch.rand(2, 4, 64, 32), torch.rand(2, 2, 64, 32)"),
    ("torch.mv(a, b)", "torch.rand(512, 512), torch.rand(512)"),
    ("torch.einsum('bij,bjk->ik', a, b)", "torch.rand(4, 64, 32), torch.rand(4, 32, 64)"),
    ("(a + 1).relu_()", "torch.rand(512, 512)"),
    ("a.t().contiguous()", "torch.rand(512, 512)"),
])
def test_the_two_routes_agree(model_file: Callable[..., Path], forward: str, inputs: str) -> None:
    assert {v.status for v in both(model_file(forward, inputs))} == {"confirmed"}


@pytest.mark.parametrize("change", [{"is_causal": False}, {"op": "add"}])
def test_a_graph_with_other_work_is_refuted(gpt2: Graph, gpt2_count: Count, change: dict) -> None:
    at = next(i for i, n in enumerate(gpt2.nodes) if n.op == "scaled_dot_product_attention")
    node = gpt2.nodes[at]
    update = {"op": change["op"]} if "op" in change else {"attributes": node.attributes | change}
    wrong = gpt2.model_copy(update={"nodes": (*gpt2.nodes[:at], node.model_copy(update=update), *gpt2.nodes[at + 1:])})
    made = verdicts(bounds(wrong, DEVICES), gpt2_count)
    assert {v.status for v in made} == {"refuted"} and all("attention" in v.reason for v in made)


def test_a_bound_above_the_second_count_is_refuted(gpt2: Graph, gpt2_count: Count) -> None:
    stated = bounds(gpt2, DEVICES)
    raised = stated.model_copy(update={"devices": tuple(
        d.model_copy(update={"fused_s": 2 * d.fused_s, "unfused_s": 2 * d.unfused_s}) for d in stated.devices)})
    assert {v.status for v in verdicts(raised, gpt2_count)} == {"refuted"}


def test_what_has_no_model_is_not_checked(model_file: Callable[..., Path]) -> None:
    made = both(model_file("torch.special.airy_ai(a)", "torch.rand(64, 64)"))
    assert {v.status for v in made} == {"not_checked"} and all("airy_ai" in v.reason for v in made)


@pytest.mark.parametrize(("of_graph", "of_count"), [("float16", "float32"), ("float32", "float16")])
def test_times_far_apart_because_of_dtype_are_not_checked_and_both_are_told(
        model_file: Callable[..., Path], of_graph: str, of_count: str) -> None:
    size = 4096
    def path(dtype: str) -> Path:
        return model_file("a @ b", ", ".join([f"torch.rand({size}, {size}, dtype=torch.{dtype})"] * 2))

    stated, counted = bounds(capture(path(of_graph)), resolve(["H100 SXM"])), count(path(of_count))
    seconds = {"float16": 2 * size**3 / 989.4e12, "float32": 2 * size**3 / 66.9e12}
    for made in verdicts(stated, counted):
        assert made.status == "not_checked" and "safe side" not in made.reason and "tensor.fp16" in made.reason
        assert f"stated {duration(seconds[of_graph])}, counted again {duration(seconds[of_count])}" in made.reason


def test_a_bound_far_below_the_second_count_is_not_called_safe(gpt2: Graph, gpt2_count: Count) -> None:
    stated = bounds(gpt2, DEVICES)
    lowered = stated.model_copy(update={"devices": tuple(
        d.model_copy(update={"fused_s": d.fused_s / 2, "unfused_s": d.unfused_s / 2}) for d in stated.devices)})
    for made in verdicts(lowered, gpt2_count):
        assert made.status == "not_checked" and "safe side" not in made.reason
        assert made.recounted_s is not None and duration(made.stated_s) in made.reason
        assert duration(made.recounted_s) in made.reason


@pytest.mark.parametrize(("forward", "reason"), [
    ("a @ b + a @ b", "left out of the bounds"), ("(a @ b)[:, :8]", "elements of b are read"),
    ("a @ a.t()", "its own transpose")])
def test_what_bounds_leave_out_is_not_refuted_and_named(model_file: Callable[..., Path], forward: str,
                                                        reason: str) -> None:
    made = both(model_file(forward, "torch.rand(512, 512), torch.rand(512, 512)"))
    assert {v.status for v in made} == {"not_checked"} and all(reason in v.reason for v in made)
