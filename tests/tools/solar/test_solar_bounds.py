"""Bounds against figures worked out by hand, and the properties that any lower bound has."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import Device, resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.check import Count

(PCIE,) = resolve(["H100 PCIe"])
BANDWIDTH = 2039e9
Capture = Callable[..., Graph]


def test_a_4096_cubed_product_in_bf16_takes_182_microseconds_on_h100_pcie(graph_of: Capture) -> None:
    square = "torch.rand(4096, 4096, dtype=torch.bfloat16)"
    (one,) = bounds(graph_of("a @ b", f"{square}, {square}"), [PCIE]).devices
    assert one.fused_s == one.unfused_s == pytest.approx(2 * 4096**3 / 756e12)
    assert one.fused_s == pytest.approx(0.182e-3, rel=0.002)
    assert one.limiting_roof == "tensor.bf16"


def test_causal_attention_is_half_of_full_attention(graph_of: Capture) -> None:
    heads = ", ".join(["torch.rand(1, 16, 2048, 64, dtype=torch.bfloat16)"] * 3)
    flop = {causal: bounds(graph_of(f"F.scaled_dot_product_attention(a, b, c, is_causal={causal})", heads), [PCIE])
            .matrix_flop["attention"] for causal in (False, True)}
    assert flop[False] == 4 * 16 * 2048**2 * 64
    assert flop[True] / flop[False] == 2049 / 4096


@pytest.mark.parametrize(("forward", "inputs", "moved"), [
    ("a.t().contiguous()", "torch.rand(4096, 4096)", 2 * 4096**2 * 4),
    ("torch.logical_and(a, b)", "torch.rand(64, 64) > 0, torch.rand(64, 64) > 0", 3 * 64**2),
    ("a + b", "torch.zeros(64, 64, dtype=torch.int64), torch.zeros(64, 64, dtype=torch.int64)", 3 * 64**2 * 8),
])
def test_moving_bytes_takes_time_whatever_the_dtype(graph_of: Capture, forward: str, inputs: str, moved: int) -> None:
    (one,) = bounds(graph_of(forward, inputs), [PCIE]).devices
    assert one.unfused_s == one.fused_s == pytest.approx(moved / BANDWIDTH)


def test_an_output_that_is_also_used_is_written_once(graph_of: Capture) -> None:
    graph = graph_of("(lambda h: (h, h @ b))(torch.relu(a))", "torch.rand(64, 64), torch.rand(64, 64)")
    made = bounds(graph, [PCIE])
    assert made.fused_bytes == 4 * 64 * 64 * 4  # a, b, h, h @ b
    assert made.unfused_bytes == (2 + 3) * 64 * 64 * 4


def test_an_expanded_input_counts_its_storage_only(graph_of: Capture) -> None:
    made = bounds(graph_of("a + 1", "torch.rand(1, 64).expand(1000, 64)"), [PCIE])
    assert made.fused_bytes == (64 + 64000) * 4


def test_the_parts_of_one_tensor_are_read_once_each(graph_of: Capture) -> None:
    split = bounds(graph_of("(lambda q, k, v: q * k + v)(*a.chunk(3, -1))", "torch.rand(8, 96)"), [PCIE])
    sliced = bounds(graph_of("a[:, :32] * a[:, 64:]", "torch.rand(8, 96)"), [PCIE])
    assert split.fused_bytes == (8 * 96 + 8 * 32) * 4
    assert sliced.fused_bytes == (8 * 64 + 8 * 32) * 4


def test_a_fused_bound_needs_one_row_of_a_table_only(graph_of: Capture) -> None:
    made = bounds(graph_of("F.embedding(a, self.w)", "torch.zeros(16, dtype=torch.int64)",
                           "self.w = nn.Parameter(torch.rand(1000, 8))"), [PCIE])
    assert made.fused_bytes == 16 * 8 + 8 * 4 + 16 * 8 * 4
    assert made.unfused_bytes == 16 * 8 + 2 * 16 * 8 * 4


def test_a_cache_that_is_written_in_place_moves_only_what_is_written(graph_of: Capture) -> None:
    text = ("import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.register_buffer('cache', torch.zeros(1000, 8))\n"
            "    def forward(self, x):\n        self.cache[3:4] = x\n        return x * 2\n"
            "def get_inputs():\n    return [torch.rand(1, 8)]\n")
    made = bounds(graph_of(text=text), [PCIE])
    assert made.unfused_bytes == (8 + 8) * 4 + (8 + 8) * 4
    assert made.fused_bytes == (8 + 8 + 8) * 4  # x, the product, and the written row


def test_float32_convolutions_may_use_tf32_and_float32_products_may_not(graph_of: Capture) -> None:
    made = bounds(graph_of("(F.conv1d(a, b), b.view(2, 6) @ b.view(6, 2))", "torch.rand(1, 2, 9), torch.rand(2, 2, 3)"),
                  [PCIE])
    assert made.flop == {"tensor.tf32": 2 * 2 * 2 * 7 * 3, "tensor.fp32": 2 * 2 * 2 * 6}


def test_float32_attention_is_not_bound_by_the_fp32_rate(graph_of: Capture) -> None:
    """Its kernel runs on tensor cores: KernelBench level 1 #97 took 13.3 ms on an H100 PCIe, 82 TFLOP/s, of 51.2."""
    heads = ", ".join(["torch.rand(32, 32, 512, 1024)"] * 3)
    (one,) = bounds(graph_of("F.scaled_dot_product_attention(a, b, c)", heads), [PCIE], measured_s=13.3e-3).devices
    assert one.headroom.status.startswith("above") and one.unfused_s > 2e-3


def test_an_unknown_operator_is_named_and_costs_no_flop(graph_of: Capture) -> None:
    made = bounds(graph_of("torch.special.airy_ai(a) + 1", "torch.rand(64, 64)"), [PCIE])
    assert made.unmodelled == ("special_airy_ai",)
    assert any(line.startswith("not modelled") for line in made.assumed)


def test_another_dtype_reprices_every_floating_tensor(graph_of: Capture) -> None:
    graph = graph_of("a @ b", "torch.rand(64, 64), torch.rand(64, 64)")
    made = bounds(graph, [PCIE], dtype="float16")
    assert made.flop == {"tensor.fp16": 2 * 64**3} and made.fused_bytes == 3 * 64 * 64 * 2
    with pytest.raises(EnlistError, match="float16"):
        bounds(graph, [PCIE], dtype="tf32")


def test_gpt2_does_two_flop_per_weight_and_token_and_half_the_attention(gpt2: Graph, gpt2_count: Count) -> None:
    layers, length, width, vocabulary = 12, 1024, 768, 50257
    products = 2 * length * (layers * 12 * width**2 + vocabulary * width)
    attention = layers * 4 * width * length * (length + 1) // 2
    assert bounds(gpt2, [PCIE]).matrix_flop == {"matmul": products, "attention": attention}
    assert gpt2_count.parameter_bytes == 4 * 124_439_808  # the published size, with the output layer tied


def test_gpt2_reads_its_tied_weight_once(gpt2: Graph) -> None:
    weights = sum(t.bytes for t in bounds(gpt2, [PCIE]).transfers if t.role == "parameter")
    assert weights == 4 * (124_439_808 - 1023 * 768)  # all but the positions that one row may stand for


def test_the_terms_add_up_to_the_unfused_bound_and_the_largest_roof_is_the_fused_one(gpt2: Graph) -> None:
    for one in bounds(gpt2, resolve(["A100 SXM 80GB", "H100"])).devices:
        assert sum(t.seconds for t in one.terms) == pytest.approx(one.unfused_s)
        assert max(r.seconds for r in one.roofs) == one.fused_s <= one.unfused_s


def faster(device: Device, bandwidth: float, rate: float) -> Device:
    memory = device.dram_bandwidth.model_copy(update={"value": device.dram_bandwidth.value * bandwidth})
    peaks = {r: p.model_copy(update={"value": p.value * rate}) for r, p in device.peaks.items()}
    return device.model_copy(update={"dram_bandwidth": memory, "peaks": peaks})


@settings(max_examples=20, deadline=None)
@given(bandwidth=st.floats(1, 100), rate=st.floats(1, 100), dtype=st.sampled_from([None, "float16", "float64"]))
def test_faster_hardware_never_raises_a_bound(gpt2: Graph, bandwidth: float, rate: float, dtype: str | None) -> None:
    slow, fast = bounds(gpt2, [PCIE, faster(PCIE, bandwidth, rate)], dtype=dtype).devices
    assert fast.unfused_s <= slow.unfused_s and fast.fused_s <= slow.fused_s


@pytest.mark.parametrize(("measured", "status"), [
    (1.0, "above both"), (1e-9, "below the bound"), (None, "nothing was")])
def test_a_stated_time_is_set_against_the_bounds(gpt2: Graph, measured: float | None, status: str) -> None:
    (one,) = bounds(gpt2, [PCIE], measured_s=measured).devices
    assert one.headroom.status.startswith(status)
    assert one.headroom.over_fused == (None if measured is None else measured / one.fused_s)
