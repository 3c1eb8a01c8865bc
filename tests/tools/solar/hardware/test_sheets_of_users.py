"""Sheets that users write: read beside what ships, and refused with the place and the fix."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import devices, parse_devices, resolve
from enlist.tools.solar.hardware.reading import parse_sheet

Sheet = Callable[..., str]


def test_units_are_turned_into_base_units(sheet: Sheet) -> None:
    (device,) = parse_devices(sheet())
    assert device.peak("tensor.bf16") == 614.4e12 and device.dram_bandwidth.value == 2.4576e12
    assert device.dram_capacity.value == 64 * 2**30 and device.clocks["boost"].value == 1.5e9
    assert device.l2.value == 64 * 2**20 and device.sms == 100
    assert device.interconnect is not None and device.interconnect.bandwidth == 200e9


def test_a_sheet_is_read_beside_what_ships(sheet: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(sheet(), encoding="utf-8")
    assert [d.name for d in resolve(["x1", "H100 PCIe"], path)] == ["Example X1", "H100 PCIe"]
    monkeypatch.setenv("ENLIST_HARDWARE", str(tmp_path))  # a folder of sheets
    assert [d.name for d in resolve(["example-family"])] == ["Example X1"]
    assert len(devices()) == len(devices(path))


def pcie(device: dict[str, Any], whole: dict[str, Any], rate: float) -> None:
    """An H100 PCIe of the user's, with an architecture of its own."""
    whole["architectures"] = {"mine": {"tensor.bf16": rate * 1e12 / 114 / 1.62e9}}
    device.update(name="H100 PCIe", aliases=[], architecture="mine",
                  units={"count": 114, "what": "SM", "source": "sheet"},
                  clocks={"boost": {"value": 1620, "unit": "MHz", "source": "sheet"}}, peaks={"tensor.bf16": {
                      "value": rate, "unit": "TFLOP/s", "dense": True, "clock": "boost", "source": "sheet"}})


def test_a_device_of_a_shipped_name_takes_its_place(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(sheet(lambda d, w: pcie(d, w, 756.0)), encoding="utf-8")
    (found,) = resolve(["H100 PCIe"], path)
    assert found.peak("tensor.bf16") == 756e12 and found.dram_bandwidth.value == 2.4576e12


def test_a_device_of_a_shipped_name_is_held_to_its_widths(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(sheet(lambda d, w: pcie(d, w, 1513.0)), encoding="utf-8")
    with pytest.raises(EnlistError, match="sparsity"):
        devices(path)


def test_a_sheet_may_use_a_shipped_architecture_and_is_held_to_it(sheet: Sheet, tmp_path: Path) -> None:
    def hopper(device: dict[str, Any], whole: dict[str, Any]) -> None:
        del whole["architectures"]
        device.update(architecture="hopper", peaks={"tensor.bf16": {
            "value": 614.4 * 2, "unit": "TFLOP/s", "dense": True, "clock": "boost", "source": "sheet"}})

    path = tmp_path / "mine.yaml"
    path.write_text(sheet(hopper), encoding="utf-8")
    with pytest.raises(EnlistError, match="sparsity"):
        devices(path)


def drop(key: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda device, _: device.pop(key)


def peak(**values: Any) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda device, _: device["peaks"]["tensor.bf16"].update(values)


@pytest.mark.parametrize(("change", "said"), [
    (peak(dense=False), "dense"), (peak(value=1228.8), "sparsity"), (peak(value=307.2), "MAC"),
    (peak(unit="TFLOPS"), "unit"), (peak(unit="TOP/s"), "FLOP/s"), (peak(source="rumour"), "source"),
    (peak(value="fast"), "number"),
    (peak(value=float("inf")), ""), (peak(value=-1), ""), (peak(value=float("nan")), ""),
    (peak(clock="turbo"), "clock"),
    (peak(sparse=True), "sparse"), (peak(per_clock=8192, value=1228.8), "sparsity"),
    (drop("units"), "units"), (drop("dram_bandwidth"), "dram_bandwidth"), (drop("verified"), "verified"),
    (lambda d, _: d["peaks"].update({"tensor.bf17": d["peaks"]["tensor.bf16"]}), "bf17"),
    (lambda d, _: d.update(colour="red"), "colour"), (lambda d, _: d["dram_capacity"].update(unit="GB"), "whole GiB"),
    (lambda d, _: d["clocks"]["boost"].update(unit="MHz"), ""), (lambda d, w: w.update(devices=[]), "devices"),
    (lambda d, w: w.update(device=[]), "key"), (lambda d, w: w.update(devices=[d, d]), "name"),
    (lambda d, w: w.update(devices=["H100"]), "table"),
    (lambda d, w: w["architectures"].update(x1={"tensor": 1}), "x1"),
    (lambda d, _: d.update(verified=True), "two documents"),
    (lambda d, w: w.update(sources=[]), "source"), (lambda d, w: w.update(sources={"sheet": 3}), "sources"),
])
def test_what_is_wrong_is_refused_as_the_users_mistake(
        sheet: Sheet, change: Callable[[dict[str, Any], dict[str, Any]], object], said: str) -> None:
    with pytest.raises(EnlistError) as caught:
        parse_devices(sheet(change))
    assert caught.value.code == "bad_input" and said in caught.value.sentence()


@pytest.mark.parametrize(("change", "allowed"), [
    (peak(value=1228.8), "dense FLOP/s"), (lambda d, _: d["dram_capacity"].update(unit="GB"), "whole GiB"),
    (lambda d, _: d.update(kind="chip"), "'gpu', 'tpu'"), (lambda d, _: d.update(verified=True), "verified: false"),
    (peak(dense=False), "a rate with sparsity is no peak")])
def test_a_refusal_says_what_this_figure_is_held_to_and_where_to_look(
        sheet: Sheet, change: Callable[[dict[str, Any], dict[str, Any]], object], allowed: str) -> None:
    with pytest.raises(EnlistError) as caught:
        parse_devices(sheet(change))
    said = f"{caught.value.message} {caught.value.allowed}"
    assert allowed in said and ("dense FLOP/s" in said) == ("tensor." in caught.value.message)
    assert caught.value.fix is not None and "speed-of-light-hardware.md" in caught.value.fix


@pytest.mark.parametrize("text", [
    "", "[]", "3", "devices", "devices: [", "devices: {a: 1}", "\x00", "devices: [{name: [}]",
    "!!python/object/apply:os.system [id]",
    "devices: [" * 2000,
    "a: &a [x, x, x, x, x, x, x, x, x]\n",
    "figures:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"  {c}: &{c} [{', '.join([f'*{p}'] * 10)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))
    + "devices: [*i]\n",
    "x" * (2 << 20),
])
def test_hostile_files_are_refused_in_time_and_memory(text: str) -> None:
    with pytest.raises(EnlistError) as caught:
        parse_sheet(text)
    assert caught.value.code == "bad_input"
