"""The sheets against what their makers print, and what serves where a unit is missing."""

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import Device, devices, resolve

PUBLISHED = {  # dense, as the data sheets print them: FLOP/s, OP/s, byte/s
    ("A100 SXM 80GB", "tensor.bf16"): 312e12, ("A100 SXM 80GB", "tensor.tf32"): 156e12,
    ("A100 SXM 80GB", "vector.fp32"): 19.5e12, ("A100 PCIe 40GB", "dram"): 1555e9, ("A100 PCIe 80GB", "dram"): 1935e9,
    ("H100 SXM", "tensor.bf16"): 989e12, ("H100 SXM", "tensor.fp8"): 1979e12, ("H100 SXM", "vector.fp32"): 67e12,
    ("H100 PCIe", "tensor.bf16"): 756e12, ("H100 PCIe", "vector.fp32"): 51e12, ("H100 NVL", "tensor.fp16"): 835e12,
    ("H200", "dram"): 4.8e12, ("B200", "tensor.fp4"): 9e15, ("B200", "tensor.fp8"): 4.5e15,
    ("L40S", "tensor.fp16"): 362e12, ("L40S", "vector.fp32"): 91.6e12, ("RTX 4090", "vector.fp32"): 82.6e12,
    ("MI300X", "tensor.bf16"): 1307.4e12, ("MI300X", "tensor.fp8"): 2614.9e12, ("MI300X", "dram"): 5.3e12,
    ("MI355X", "tensor.fp4"): 10.066e15, ("MI250X", "tensor.fp16"): 383e12, ("TPU v5e", "tensor.int8"): 393e12,
    ("TPU v5p", "dram"): 2765e9, ("TPU v7", "tensor.fp8"): 4614e12, ("Gaudi 3", "tensor.bf16"): 1835e12,
    ("Trainium2", "tensor.fp8"): 1299e12, ("M2 Ultra", "dram"): 800e9,
}


def named(name: str) -> Device:
    (found,) = resolve([name])
    return found


@pytest.mark.parametrize(("device", "roof"), PUBLISHED)
def test_a_peak_is_the_published_dense_one(device: str, roof: str) -> None:
    found = named(device)
    value = found.dram_bandwidth.value if roof == "dram" else found.peak(roof)
    assert value == pytest.approx(PUBLISHED[device, roof], rel=0.005)


def test_every_figure_names_its_documents_and_a_verified_one_names_two() -> None:
    for device in devices():
        figures = [device.units, device.dram_bandwidth, device.dram_capacity, *device.clocks.values(),
                   *device.peaks.values(), *(c.capacity for c in device.caches)]
        assert all(f.source for f in figures)
        assert not device.verified or all(len(f.sources) >= 2 for f in figures if f.verified), device.name


@pytest.mark.parametrize("name", ["H100 SXM", "H100 PCIe", "H200", "B200", "L40S", "A100 SXM 80GB",
                                  "A100 SXM 40GB", "A100 PCIe 80GB", "A100 PCIe 40GB", "RTX 4090", "MI300X"])
def test_the_first_devices_have_two_documents_for_what_bounds_rest_on(name: str) -> None:
    device = named(name)
    assert device.verified
    for figure in (device.peaks["tensor.bf16"], device.peaks["tensor.tf32"], device.peaks["vector.fp32"],
                   device.dram_bandwidth, device.dram_capacity):
        assert figure.verified and len(figure.sources) >= 2


@pytest.mark.parametrize(("device", "roof", "serving"), [
    ("A100 SXM 80GB", "tensor.fp8", "tensor.fp16"), ("A100 SXM 80GB", "tensor.fp4", "tensor.int8"),
    ("V100 SXM2 16GB", "tensor.tf32", "vector.fp32"), ("V100 SXM2 16GB", "tensor.bf16", "vector.fp32"),
    ("T4", "vector.bf16", "vector.fp32"), ("H100 SXM", "tensor.fp32", "vector.fp32"),
    ("L40S", "tensor.fp64", "vector.fp64"), ("H100 SXM", "tensor.int4", "tensor.fp8"),
    ("B300", "tensor.int8", "tensor.fp16"), ("TPU v5e", "vector.fp64", "vector.fp32"),
    ("M4 Max", "tensor.bf16", "vector.fp32"), ("MI300X", "tensor.fp32", "tensor.fp32"),
    ("H100 SXM", "tensor.bf16", "tensor.bf16")])
def test_where_a_unit_is_missing_the_fastest_that_holds_the_operands_serves(
        device: str, roof: str, serving: str) -> None:
    found = named(device)
    assert found.peak(roof) == found.peaks[found.serves(roof)].value == found.peaks[serving].value


def test_a_name_that_is_no_roof_is_refused_with_the_nearest() -> None:
    with pytest.raises(EnlistError, match=r"tensor\.bf16") as caught:
        named("H100 SXM").peak("tensor.bfloat16")
    assert caught.value.code == "bad_input"


def test_a_clock_scales_every_peak_and_leaves_memory_alone() -> None:
    device = named("H100 PCIe")
    slow = device.with_clock(1410e6)
    assert slow.peak("tensor.bf16") == pytest.approx(756e12 * 1410 / 1620)
    assert slow.peak("vector.fp32") == pytest.approx(51.2e12 * 1410 / 1755)
    assert slow.peak("special") == pytest.approx(16 * 114 * 1410e6, rel=1e-3)
    assert slow.dram_bandwidth == device.dram_bandwidth and slow.with_clock(1410e6) == slow.model_copy(
        update={"peaks": slow.with_clock(1410e6).peaks})
    with pytest.raises(EnlistError):
        device.with_clock(1410)  # MHz given for Hz
