"""Every known slip, made on every device that ships, is refused and named."""

import pytest

from enlist.tools.solar.hardware import Device, devices
from enlist.tools.solar.hardware.catalogue import shipped_widths
from enlist.tools.solar.hardware.consistency import faults

SLIPS = {  # what was done to the right figure, what the refusal must say
    "with sparsity": (2.0, "sparsity"), "MAC for FLOP, or halved again": (0.5, "MAC for FLOP"),
    "halved twice": (0.25, "halved twice"), "with sparsity and doubled": (4.0, "four times"),
    "the next prefix up": (1e3, "prefix"), "the next prefix down": (1e-3, "prefix"), "6 % off": (1.06 / 0.95, ""),
}
DEVICES = devices()
WIDTHS = shipped_widths()


def said(device: Device) -> list[str]:
    return faults(device, WIDTHS[device.architecture], DEVICES)


def scaled(device: Device, field: str, factor: float) -> Device:
    figure = getattr(device, field)
    return device.model_copy(update={field: figure.model_copy(update={"value": figure.value * factor})})


@pytest.mark.parametrize("device", DEVICES, ids=lambda d: d.name)
def test_every_device_as_it_ships_adds_up(device: Device) -> None:
    assert said(device) == []


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_any_peak_of_any_device_is_refused_and_named(slip: str) -> None:
    factor, hint = SLIPS[slip]
    for device in DEVICES:
        for roof, peak in device.peaks.items():
            wrong = device.model_copy(update={"peaks": {
                **device.peaks, roof: peak.model_copy(update={"value": peak.value * factor})}})
            (fault,) = said(wrong)
            assert roof in fault and hint in fault, device.name


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_an_issue_width_of_any_device_is_refused(slip: str) -> None:
    """Peak and width may be wrong together, and then agree with each other: the architecture's width tells."""
    factor, hint = SLIPS[slip]
    for device in DEVICES:
        for roof, peak in device.peaks.items():
            wrong = device.model_copy(update={"peaks": {**device.peaks, roof: peak.model_copy(
                update={"value": peak.value * factor, "per_clock": peak.per_clock * factor})}})
            (fault,) = said(wrong)
            assert roof in fault and hint in fault, device.name


@pytest.mark.parametrize(("factor", "hint"), [(2, "twice"), (0.5, "half"), (8, "bits for bytes"),
                                              (0.125, "bytes for bits"), (1e3, "prefix"), (1e-3, "prefix")])
def test_a_slip_in_any_bandwidth_is_refused(factor: float, hint: str) -> None:
    for device in DEVICES:
        (fault,) = said(scaled(device, "dram_bandwidth", factor))
        assert "dram_bandwidth" in fault and hint in fault, device.name


@pytest.mark.parametrize("factor", [1e9 / 2**30, 2**30 / 1e9])
def test_decimal_gigabytes_for_binary_ones_and_the_reverse_are_refused_on_every_device(factor: float) -> None:
    for device in DEVICES:
        (fault,) = said(scaled(device, "dram_capacity", factor))
        assert "dram_capacity" in fault and "whole GiB" in fault, device.name


def test_both_directions_of_a_link_are_refused_on_every_device_that_has_one() -> None:
    linked = [d for d in DEVICES if d.interconnect]
    assert len(linked) > 30
    for device in linked:
        link = device.interconnect
        assert link is not None
        both = device.model_copy(update={"interconnect": link.model_copy(update={"bandwidth": 2 * link.bandwidth})})
        (fault,) = said(both)
        assert "both directions" in fault, device.name


@pytest.mark.parametrize(("one", "other"), [
    ("H100 SXM", "H100 PCIe"), ("H100 PCIe", "H100 SXM"), ("H100 SXM", "H100 NVL"), ("RTX 4090", "L40S"),
    ("V100 PCIe", "V100 SXM2 16GB"), ("B200", "GB200"), ("GB200", "B200"), ("MI250X", "MI300X")])
def test_the_figure_of_another_variant_is_refused_and_the_variant_named(one: str, other: str) -> None:
    by_name = {d.name: d for d in DEVICES}
    device, source = by_name[one], by_name[other]
    taken = device.peaks["tensor.fp16"].model_copy(update={"value": source.peaks["tensor.fp16"].value})
    (fault,) = said(device.model_copy(update={"peaks": {**device.peaks, "tensor.fp16": taken}}))
    twin = next(d.name for d in DEVICES if d.name != one and abs(
        d.peaks.get("tensor.fp16", taken).value / taken.value - 1) < 0.01 and "tensor.fp16" in d.peaks)
    assert twin in fault or "sparsity" in fault


def test_the_memory_of_another_variant_is_refused_and_the_variant_named() -> None:
    by_name = {d.name: d for d in DEVICES}
    wrong = by_name["A100 SXM 80GB"].model_copy(update={"dram_bandwidth": by_name["A100 PCIe 40GB"].dram_bandwidth})
    (fault,) = said(wrong)
    assert "A100" in fault.partition("the figure of")[2]
