"""This machine's CPU as a device: calibrated at the first use and kept under ENLIST_HOME.

The kept run is used again while CPU and thread count are the same. A run under a heavy load finds roofs that are too
low, which the figures' notes say; `refresh` measures again.
"""

import os
from pathlib import Path

from pydantic import ValidationError

from enlist.tools.runtime.config import read
from enlist.tools.solar.hardware.calibration import Calibration, cpu_model, measure, usable_cpus
from enlist.tools.solar.hardware.kernels import LAUNCH
from enlist.tools.solar.hardware.serving import ROOFS
from enlist.tools.solar.hardware.sheet import Cache, Device, Figure, Peak, Units

FOLDER, FILE = "hardware", "local.json"
_NOMINAL_CLOCK = 1e9


def local_device(refresh: bool = False) -> Device:
    """This machine's CPU, under the name "local"; measured now where that was not done before, or on `refresh`."""
    return as_device(calibration(refresh))


def calibration(refresh: bool = False) -> Calibration:
    """The run that "local" rests on, with every kernel."""
    folder = read().home / FOLDER
    kept = _kept(folder / FILE)
    if not refresh and kept is not None and (kept.cpu, kept.threads) == (cpu_model(), usable_cpus()):
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    made = measure(folder)
    _keep(made, folder / FILE)
    return made


def calibrate(folder: Path, *, quick: bool = False) -> Device:
    """Measure this CPU now, keep the run as `local.json` in `folder`, and give it as a device."""
    folder.mkdir(parents=True, exist_ok=True)
    made = measure(folder, quick=quick)
    _keep(made, folder / FILE)
    return as_device(made)


def as_device(run: Calibration) -> Device:
    """A calibration as a device: each roof with the kernel that it comes from, its spread and the load."""

    def figure(roof: str, unit: str) -> Figure:
        return Figure.model_validate({"value": run.roof(roof), "unit": unit, **_said(run, roof)})

    clock = max(_clock(), 1.0)
    peaks = {roof: Peak.model_validate({
        "value": run.roof(roof), "unit": "1/s" if roof == "special" else "OP/s" if ".int" in roof else "FLOP/s",
        "dense": True, "per_clock": run.roof(roof) / run.threads / clock, "clock": "nominal", **_said(run, roof)})
        for roof in run.roofs if roof in ROOFS}
    machine = (f"{run.cpu}, as the system describes it",)
    overhead = None
    if LAUNCH in run.roofs:
        overhead = Figure(value=1 / run.fastest(LAUNCH).best, unit="s", sources=machine, verified=False,
                          note=f"for estimates: the quickest {run.fastest(LAUNCH).kernel!r}, measured on {run.date}")
    return Device(
        name="local", maker=run.cpu, kind="cpu", architecture="measured", verified=False, peaks=peaks,
        units=Units(count=run.threads, what="thread", sources=machine),
        launch_overhead=overhead, clocks={"nominal": Figure(value=clock, unit="Hz", sources=machine, verified=False)},
        dram_bandwidth=figure("dram", "byte/s"), dram_capacity=Figure(value=run.memory, unit="byte", sources=machine),
        caches=tuple(Cache(name=level.name, capacity=Figure(value=level.capacity, unit="byte", sources=machine),
                           bandwidth=figure(run.passed(level.name), "byte/s") if level.name in run.roofs else None)
                     for level in run.caches))


def _said(run: Calibration, roof: str) -> dict[str, object]:
    best = run.fastest(roof)
    many = sum(k.roof == roof for k in run.kernels)
    return {"verified": False, "sources": (f"measured on this CPU on {run.date}",),
            "note": f"{run.roof(roof) / best.best:.2f} times {best.kernel!r}, the best of {many} kernels; best over "
                    f"third best {run.repeated(roof):.2f}, over median {run.spread(roof):.2f}; load "
                    f"{run.load[0]:g} to {run.load[1]:g} on {run.threads} threads"}


def _clock() -> float:
    """Hz of the fastest CPU now, as /proc has it; 1 GHz where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return max((float(line.partition(":")[2]) * 1e6 for line in lines if line.startswith("cpu MHz")),
                   default=_NOMINAL_CLOCK)
    except (OSError, ValueError):
        return _NOMINAL_CLOCK


def _kept(path: Path) -> Calibration | None:
    try:
        return Calibration.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):  # none yet, or one of another version: measure again
        return None


def _keep(run: Calibration, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(run.model_dump_json(indent=1), encoding="utf-8")
    temporary.replace(path)
