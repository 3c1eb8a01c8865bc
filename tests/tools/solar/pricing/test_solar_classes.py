"""Classes of implementations: what each exempts, what never moves a bound upward, loops, phases, narrow dtypes."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.hardware import Device, resolve
from enlist.tools.solar.pricing.bounds import Bounds, DeviceBounds, Ruling, bounds

Capture = Callable[..., Graph]
(PCIE,) = resolve(["H100 PCIe"])
SECONDS = ("fused_s", "cache_aware_s", "unfused_s")


def tensor(name: str, shape: tuple[int, ...], dtype: str = "float32", role: str = "intermediate",
           **more: object) -> Tensor:
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return Tensor(id=name, shape=shape, strides=tuple(strides), dtype=dtype, role=role, **more)  # type: ignore[arg-type]


def product_graph(m: int, k: int, n: int, dtype: str = "float32") -> Graph:
    """One matrix product."""
    return Graph(target="t", assumed=(), tensors=(
        tensor("a", (m, k), dtype, "input"), tensor("b", (k, n), dtype, "parameter"),
        tensor("c", (m, n), dtype, "output", is_output=True)), nodes=(
        Node(id="n", op="mm", inputs=("a", "b"), slots=("self", "mat2"), outputs=("c",)),))


def one(graph: Graph, device: Device = PCIE, **ruling: object) -> DeviceBounds:
    return bounds(graph, [device], ruling=Ruling(**ruling)).devices[0]  # type: ignore[arg-type]


def test_any_algorithm_leaves_a_product_only_its_bytes() -> None:
    found = one(product_graph(4096, 4096, 4096), any_algorithm=True)
    assert found.fused_s == pytest.approx(3 * 4096**2 * 4 / PCIE.dram_bandwidth.value)
    assert "any algorithm" in found.cls["arithmetic"]


def test_what_pytorch_runs_is_expected_whatever_else_is_allowed() -> None:
    graph = product_graph(4096, 4096, 4096)
    (usual,), (free,) = (bounds(graph, [PCIE], 1.0, ruling=Ruling(any_algorithm=allowed)).devices
                         for allowed in (False, True))
    assert free.fused_s < usual.fused_s
    assert free.estimate_s == usual.estimate_s and free.mfu == usual.mfu == pytest.approx(
        2 * 4096**3 / PCIE.peak("tensor.fp32"))
    assert free.terms[0].estimate_s == usual.terms[0].estimate_s


def test_warm_caches_exempt_what_fits_them_on_both_ways() -> None:
    small, large = product_graph(64, 64, 64), product_graph(16, 20000, 20000)
    assert one(small, warm=True).fused_s == pytest.approx(2 * 64**3 / PCIE.peak("tensor.fp32"))
    moved = 4 * (16 * 20000 + 20000**2) - PCIE.l2.value  # what comes in; the output fits
    assert one(large, warm=True).fused_s == pytest.approx(moved / PCIE.dram_bandwidth.value)
    assert one(large).fused_s == pytest.approx(4 * (2 * 16 * 20000 + 20000**2) / PCIE.dram_bandwidth.value)


def test_what_warm_caches_hold_still_passes_the_last_level_where_its_bandwidth_is_known() -> None:
    (device,) = resolve(["MI300X"])
    llc, above = device.caches[-1], sum(c.capacity.value for c in device.caches[:-1])
    assert llc.bandwidth is not None
    many = int(llc.capacity.value // 4)  # float32 that just fit
    graph = Graph(target="t", assumed=(), tensors=(
        tensor("a", (many,), "float32", "input"), tensor("c", (1,), "float32", "output", is_output=True)), nodes=(
        Node(id="n", op="sum", inputs=("a",), slots=("self",), outputs=("c",)),))
    found = one(graph, device, warm=True)
    assert found.fused_s == pytest.approx((4 * many - int(above)) / llc.bandwidth.value)
    assert found.fused_s < one(graph, device).fused_s == pytest.approx(4 * (many + 1) / device.dram_bandwidth.value)
    assert {"dram", "llc"} <= {r.roof for r in found.roofs}
    assert "llc" not in {r.roof for r in one(graph).roofs}  # no bandwidth on that sheet: no limit


def test_strict_float32_stands_beside_the_default(graph_of: Capture) -> None:
    found = one(graph_of("F.conv2d(a, b)", "torch.rand(16, 512, 64, 64), torch.rand(512, 512, 3, 3)"))
    flop = 2 * 16 * 512 * 512 * 62 * 62 * 9
    assert found.fused_s == pytest.approx(flop / PCIE.peak("tensor.tf32"))
    assert found.strict.fused_s == pytest.approx(flop / PCIE.peak("vector.fp32"))


def test_a_clock_scales_compute_and_not_memory() -> None:
    graph = product_graph(4096, 4096, 4096, "bfloat16")
    half = one(graph, clock_mhz=PCIE.clocks["boost_tensor"].value / 2e6)
    assert half.fused_s == pytest.approx(2 * one(graph).fused_s)


@pytest.mark.parametrize(("dtype", "bits"), [("float4_e2m1fn", 4), ("int4", 4), ("float8_e4m3fn", 8), ("int8", 8),
                                             ("bfloat16", 16), ("float64", 64)])
def test_narrow_numbers_take_their_own_width(dtype: str, bits: int) -> None:
    assert bounds(product_graph(8, 16, 32, dtype), [PCIE]).fused_bytes == (8 * 16 + 16 * 32 + 8 * 32) * bits // 8


def looped(trips: int) -> Graph:
    """`trips` times: a slice of the stacked inputs times one weight."""
    return Graph(target="t", assumed=(), tensors=(
        tensor("xs", (trips, 4, 8), role="input"), tensor("w", (8, 8), role="parameter"),
        tensor("x", (4, 8), alias_of="xs"), tensor("y", (4, 8))), nodes=(
        Node(id="s", op="loop_slice", inputs=("xs",), slots=("self",), outputs=("x",), repeat=trips),
        Node(id="m", op="mm", inputs=("x", "w"), slots=("self", "mat2"), outputs=("y",), repeat=trips)))


def test_a_loop_does_its_body_as_often_as_it_turns_and_reads_the_stack_once() -> None:
    made = bounds(looped(10), [PCIE])
    assert made.flop == {"tensor.fp32": 10 * 2 * 4 * 8 * 8}
    assert made.fused_bytes == 4 * (10 * 4 * 8 + 8 * 8)
    assert made.unfused_bytes == 4 * 10 * (4 * 8 + 8 * 8 + 4 * 8)


def test_what_a_later_phase_uses_crosses_dram_between() -> None:
    graph = Graph(target="t", assumed=(), tensors=(
        tensor("x", (100,), role="input"), tensor("h", (100,)),
        tensor("g", (100,), role="output", is_output=True)), nodes=(
        Node(id="f", op="relu", inputs=("x",), slots=("self",), outputs=("h",)),
        Node(id="b", op="threshold_backward", inputs=("h",), slots=("self",), outputs=("g",), phase="backward")))
    made = bounds(graph, [PCIE])
    assert [(t.tensor, t.phase, t.way) for t in made.transfers] == [
        ("x", "forward", "in"), ("h", "forward", "out"), ("h", "backward", "in"), ("g", "backward", "out")]
    assert made.devices[0].fused_s == pytest.approx(4 * 400 / PCIE.dram_bandwidth.value)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000), st.floats(1, 8), st.floats(1, 8),
       st.sampled_from(["float32", "bfloat16", "int8"]))
def test_more_bandwidth_more_cache_or_fewer_bytes_never_raises_a_bound(m: int, k: int, n: int, wider: float,
                                                                       larger: float, dtype: str) -> None:
    small = PCIE.model_copy(update={"caches": tuple(c.model_copy(update={"capacity": c.capacity.model_copy(
        update={"value": c.capacity.value / 10000})}) for c in PCIE.caches)})  # so that capacity matters
    before = one(product_graph(m, k, n, dtype), small)
    faster = small.model_copy(update={"dram_bandwidth": small.dram_bandwidth.model_copy(
        update={"value": small.dram_bandwidth.value * wider})})
    roomier = small.model_copy(update={"caches": tuple(c.model_copy(update={"capacity": c.capacity.model_copy(
        update={"value": c.capacity.value * larger})}) for c in small.caches)})
    for field in SECONDS:
        assert getattr(one(product_graph(m, k, n, dtype), faster), field) <= getattr(before, field) * (1 + 1e-9)
        assert getattr(one(product_graph(m, k, n, dtype), roomier), field) <= getattr(before, field) * (1 + 1e-9)
        fewer = one(product_graph(m, k, max(1, n - 1), dtype), small)
        assert getattr(fewer, field) <= getattr(before, field) * (1 + 1e-9)
    assert before.fused_s <= before.cache_aware_s * (1 + 1e-9) and before.cache_aware_s <= before.unfused_s * (1 + 1e-9)


def test_a_product_that_does_not_fit_the_chip_reads_its_operands_again() -> None:
    """Smith, Lowery, Langou, van de Geijn: 2mnk/sqrt(S) - 2S elements, here with S = 10,000."""
    tiny = PCIE.model_copy(update={"caches": (PCIE.caches[-1].model_copy(update={
        "capacity": PCIE.caches[-1].capacity.model_copy(update={"value": 40000.0})}),)})
    slow = tiny.model_copy(update={"dram_bandwidth": tiny.dram_bandwidth.model_copy(update={"value": 1e9})})
    found = one(product_graph(1000, 1000, 1000), slow)
    assert found.fused_s == pytest.approx(3 * 4e6 / 1e9)
    assert found.cache_aware_s == pytest.approx(4 * (2 * 1e9 / 100 - 2e4) / 1e9)


def test_parts_of_a_graph_never_take_less_than_the_whole(gpt2: Graph) -> None:
    whole = bounds(gpt2, [PCIE]).devices[0]
    half = len(gpt2.nodes) // 2
    parts = [gpt2.nodes[:half], gpt2.nodes[half:]]
    made = set()
    total = 0.0
    for nodes in parts:
        inside = {t for n in nodes for t in n.outputs}
        used_later = {t for n in gpt2.nodes if n not in nodes for t in n.inputs}
        tensors = []
        for t in gpt2.tensors:
            role = "input" if t.id in made and t.id not in inside and t.alias_of is None else t.role
            tensors.append(t.model_copy(update={"role": role, "is_output": t.is_output or (
                t.id in inside and t.id in used_later)}))
        part = Graph.model_construct(target="part", tensors=tuple(tensors), nodes=nodes, assumed=())
        total += bounds(part, [PCIE]).devices[0].fused_s
        made |= inside
    assert total >= whole.fused_s * (1 - 1e-9)


def test_utilisation_is_matrix_flop_over_time_and_peak() -> None:
    graph = product_graph(4096, 4096, 4096, "bfloat16")
    ideal = 2 * 4096**3 / PCIE.peak("tensor.bf16")
    made: Bounds = bounds(graph, [PCIE], measured_s=4 * ideal)
    assert made.devices[0].mfu == pytest.approx(0.25) and made.devices[0].hfu == pytest.approx(0.25)


def test_every_term_names_its_data_sheet() -> None:
    found = one(product_graph(4096, 4096, 4096))
    for term in found.terms:
        assert found.dtype_peaks[term.roof].source
    assert found.estimate_s >= found.fused_s and found.launches == 1
