"""This machine's CPU as a device: what its roofs are made of, and when it is measured again."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import calibration as measuring
from enlist.tools.solar.hardware import local, local_device, resolve
from enlist.tools.solar.hardware.calibration import Calibration, Level, Measured, Run, cpu_model, prepared, usable_cpus
from enlist.tools.solar.hardware.kernels import Buffers, Kernel, memory_kernels
from enlist.tools.solar.hardware.local import as_device, calibrate

RATES = {"dram": (10e9, 20e9, 15e9), "L3": (12e9, 8e9), "L2": (50e9,), "vector.fp32": (80e9, 100e9, 90e9),
         "tensor.bf16": (40e9, 30e9, 20e9), "tensor.int8": (400e9,), "special": (1e9, 2e9),
         "launch": (2e5, 4e5)}


def run(**changes: Any) -> Calibration:
    kernels = tuple(Measured(roof=roof, kernel=f"kernel {i}", best=rate, third=rate * 0.9, median=rate / 2, runs=9)
                    for roof, rates in RATES.items() for i, rate in enumerate(rates))
    caches = tuple(Level(name=n, capacity=c) for n, c in (("L1", 96 << 10), ("L2", 2 << 20), ("L3", 48 << 20)))
    return Calibration(**{"cpu": cpu_model(), "threads": usable_cpus(), "date": "2026-12-01T12:00+00:00",
                          "load": (0.5, 0.7), "memory": 16 << 30, "caches": caches, "kernels": kernels} | changes)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where a calibration was asked for, with a hand-made one in its place."""
    asked: list[Path] = []
    monkeypatch.setenv("ENLIST_HOME", str(tmp_path))
    monkeypatch.setattr(local, "measure", lambda folder, quick=False: asked.append(folder) or run())
    return asked


def test_a_roof_is_the_best_kernel_of_the_run_with_a_margin_of_at_most_15_percent() -> None:
    device = as_device(run())
    for roof in ("vector.fp32", "tensor.bf16", "tensor.int8", "special"):
        assert max(RATES[roof]) <= device.peaks[roof].value <= 1.15 * max(RATES[roof])
    assert max(RATES["dram"]) <= device.dram_bandwidth.value <= 1.15 * max(RATES["dram"])


def test_settled_roofs_are_those_that_were_met_three_times() -> None:
    assert run().settled().roof("dram") == pytest.approx(0.9 * run().roof("dram"))


def test_a_dtype_that_is_slower_than_a_wider_one_runs_as_the_wider() -> None:
    device = as_device(run())
    assert device.serves("tensor.bf16") == device.serves("tensor.fp16") == device.serves("tensor.tf32") == "vector.fp32"
    assert device.serves("tensor.int8") == "tensor.int8"


def test_a_cache_lets_through_no_less_than_the_memory_behind_it() -> None:
    by_name = {c.name: c.bandwidth.value for c in as_device(run()).caches if c.bandwidth}
    assert by_name["L3"] == as_device(run()).dram_bandwidth.value and by_name["L2"] == pytest.approx(1.15 * 50e9)
    assert as_device(run()).l2.value == 48 << 20


def test_the_cost_of_an_operator_is_that_of_the_quickest_call_and_no_roof() -> None:
    device = as_device(run())
    assert device.launch_overhead is not None and device.launch_overhead.value == 1 / 4e5
    assert "launch" not in device.peaks


def test_each_figure_says_what_it_comes_from() -> None:
    note = as_device(run()).dram_bandwidth.note
    assert "'kernel 1', the best of 3 kernels" in note and "load 0.5 to 0.7" in note and "median 2.00" in note


def test_local_is_measured_once_and_again_when_asked(runs: list[Path], tmp_path: Path) -> None:
    (first,) = resolve(["local"])
    assert first == local_device() and first.name == "local" and first.kind == "cpu" and len(runs) == 1
    local_device(refresh=True)
    assert len(runs) == 2 and json.loads((tmp_path / "hardware" / "local.json").read_text())["threads"] == usable_cpus()


@pytest.mark.parametrize("kept", [
    run(cpu="another CPU").model_dump_json(), run(threads=999).model_dump_json(), "{}", "x"])
def test_a_run_of_another_machine_or_version_is_not_used(runs: list[Path], tmp_path: Path, kept: str) -> None:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "local.json").write_text(kept, encoding="utf-8")
    local_device()
    assert len(runs) == 1


def test_a_kernel_that_a_library_lacks_is_left_out() -> None:
    def lacking() -> None:
        raise RuntimeError("not implemented for 'Half'")

    kernels = [Kernel(roof, roof, 1e6, lambda: time.sleep(1e-4)) for roof in ("dram", "vector.fp32")]
    made = Run([*kernels, Kernel("tensor.fp16", "half", 1e6, lacking)], [Level(name="L2", capacity=1 << 20)])
    for _ in range(3):
        made.round()
    assert made.result().roofs == ("dram", "vector.fp32")
    assert all(k.best >= k.median > 0 and k.best >= k.third and k.runs == 3 for k in made.result().kernels)
    with pytest.raises(EnlistError) as caught:
        Run(kernels[:1], [])
    assert caught.value.code == "not_installed"


def test_a_copy_counts_what_it_reads_and_what_it_writes() -> None:
    buffers = Buffers.of(1 << 16)
    amounts = {k.name: k.amount for k in memory_kernels("dram", buffers, None, 2)}
    assert amounts["numpy copy"] == amounts["torch copy"] == 2 * amounts["torch sum"] == 4 * buffers.size


def test_the_parts_of_a_buffer_are_all_of_it_and_apart() -> None:
    buffers = Buffers.of(1 << 16)
    starts = [part.addresses()[0] for part in buffers.parts(4)]
    assert starts == [buffers.addresses()[0] + i * (1 << 14) for i in range(4)]


@pytest.mark.slow
def test_every_roof_of_this_cpu_rests_on_three_kernels_or_more(tmp_path: Path) -> None:
    device = calibrate(tmp_path, quick=True)
    kept = Calibration.model_validate_json((tmp_path / "local.json").read_bytes())
    for roof in set(kept.roofs) - {"launch"}:
        rates = sorted((k.best for k in kept.kernels if k.roof == roof), reverse=True)
        assert len(rates) >= 3 and kept.roof(roof) <= measuring.MARGIN * rates[0] <= 1.15 * rates[0]
    assert device.dram_bandwidth.value > 1e9 and device.peak("vector.fp32") > 1e9
    assert device.peak("vector.fp32") >= device.peak("vector.fp64")


@pytest.mark.slow
def test_the_roof_is_that_of_the_same_kernels_run_again(tmp_path: Path) -> None:
    """The kernels of a second preparation stay under the roofs of the first: what a calibration is for."""
    first = calibrate(tmp_path)
    with prepared(tmp_path, quick=True) as again:
        for _ in range(3):
            again.round()
        found = again.result()
    for roof in ("vector.fp32", "dram"):
        limit = first.peak(roof) if roof != "dram" else first.dram_bandwidth.value
        assert sorted(k.median for k in found.kernels if k.roof == roof)[-1] <= 1.05 * limit
