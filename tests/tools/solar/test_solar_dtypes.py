"""Names of dtypes, and the mixtures of them that eager PyTorch refuses."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.dtypes import dtype_name
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.tool import BOUNDS

HALF, FULL = "torch.rand(4, 4, dtype=torch.float16)", "torch.rand(4, 4)"
WHOLE = "torch.zeros(4, 4, dtype=torch.int64)"


@pytest.mark.parametrize(("written", "name"), [
    ("bf16", "bfloat16"), ("BF16", "bfloat16"), ("torch.bfloat16", "bfloat16"), ("fp16", "float16"),
    ("Half", "float16"), ("fp32", "float32"), ("float", "float32"),
    ("fp64", "float64"), ("double", "float64"), ("FP8", "float8_e4m3fn"), ("float8_e5m2", "float8_e5m2")])
def test_a_dtype_is_named_as_people_write_it(written: str, name: str) -> None:
    given = BOUNDS.example | {"dtype": written}
    assert dtype_name(written) == name == BOUNDS.parse(given).dtype


@pytest.mark.parametrize("written", ["tf32", "int8", "", "float17"])
def test_what_is_no_floating_dtype_is_answered_with_those_that_are(written: str) -> None:
    with pytest.raises(EnlistError) as caught:
        BOUNDS.parse(BOUNDS.example | {"dtype": written})
    assert caught.value.code == "bad_input"
    assert all(n in caught.value.sentence() for n in ("bfloat16", "bf16", "half", "float8_e4m3fn", "fp64"))


@pytest.mark.parametrize(("forward", "inputs"), [
    ("F.linear(a, b)", f"{HALF}, {FULL}"), ("F.linear(a, a, b[0])", f"{HALF}, {FULL}"), ("a @ b", f"{FULL}, {HALF}"),
    ("torch.addmm(b, a, a)", f"{HALF}, {FULL}"), ("torch.bmm(a[None], b[None])", f"{HALF}, {FULL}"),
    ("torch.baddbmm(b[None], a[None], a[None])", f"{HALF}, {FULL}"), ("torch.mv(a, b[0])", f"{HALF}, {FULL}"),
    ("torch.dot(a[0], b[0])", f"{HALF}, {FULL}"), ("torch.einsum('ij,jk->ik', a, b)", f"{HALF}, {FULL}"),
    ("a @ b", f"{FULL}, {WHOLE}"), ("F.conv1d(a[None], b[:, :, None])", f"{HALF}, {FULL}"),
    ("F.conv1d(a[None], a[:, :, None], b[0])", f"{HALF}, {FULL}"),
    ("F.conv_transpose1d(a[None], b[:, :, None])", f"{HALF}, {FULL}"),
    ("F.scaled_dot_product_attention(a[None], b[None], b[None])", f"{HALF}, {FULL}"),
    ("nn.MultiheadAttention(4, 2, device=a.device).eval()(a, a, a)[0]", HALF)])
def test_capture_refuses_the_dtypes_that_eager_pytorch_refuses(
        model_file: Callable[..., Path], forward: str, inputs: str) -> None:
    path = model_file(forward, inputs)
    made = runpy.run_path(str(path))
    with pytest.raises(RuntimeError):  # what PyTorch itself says to it, on the CPU
        made["Model"]()(*made["get_inputs"]())
    with pytest.raises(EnlistError) as caught:
        capture(path)
    assert caught.value.code == "tool_failed"


@pytest.mark.parametrize(("forward", "inputs"), [
    ("F.layer_norm(a, (4,), b[0])", f"{HALF}, {FULL}"), ("a + b", f"{HALF}, {FULL}"),
    ("F.linear(a.float(), b)", f"{HALF}, {FULL}"),
    ("F.scaled_dot_product_attention(a[None], a[None], a[None], attn_mask=b)", f"{HALF}, {FULL}"),
    ("F.scaled_dot_product_attention(b[None], b[None], b[None], attn_mask=b > 0)", f"{HALF}, {FULL}")])
def test_capture_takes_the_mixed_dtypes_that_eager_pytorch_takes(
        model_file: Callable[..., Path], forward: str, inputs: str) -> None:
    path = model_file(forward, inputs)
    made = runpy.run_path(str(path))
    made["Model"]()(*made["get_inputs"]())
    assert capture(path).nodes


def test_a_refusal_names_the_operator_the_dtypes_and_the_cast(model_file: Callable[..., Path]) -> None:
    with pytest.raises(EnlistError) as caught:
        capture(model_file("self.l(a)", HALF, "self.l = nn.Linear(4, 4)"))
    for words in ("linear in l", "input float16", "weight float32", "x.to(torch.float32)"):
        assert words in caught.value.sentence()


def test_the_dtype_of_parameters_and_inputs_is_said_apart_where_they_differ(graph_of: Callable[..., object]) -> None:
    graph = graph_of("self.l(a.float())", HALF, "self.l = nn.Linear(4, 4)")
    assert "dtype: parameters float32, inputs float16" in graph.assumed  # type: ignore[attr-defined]
