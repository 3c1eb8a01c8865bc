"""No measured time lies below its bound: KernelBench's problems and its published H100 PCIe timings."""

import json
import os
from pathlib import Path

import pytest

from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture

DATA = Path(os.environ.get("ENLIST_DATA", Path(__file__).parents[4] / "shared" / "data")) / "kernels" / "kernelbench"
PROBLEMS = sorted(p for level in ("level1", "level2") for p in (DATA / level).glob("*.py"))


@pytest.mark.slow  # a hundred captures take minutes
@pytest.mark.skipif(not PROBLEMS, reason="KernelBench is not there; set ENLIST_DATA to the folder that has kernels/")
def test_no_published_time_is_below_the_fused_bound() -> None:
    timings = [json.loads((DATA / "timing_H100_PCIe" / f"baseline_time_torch{kind}.json").read_text(encoding="utf-8"))
               for kind in ("", "_compile_inductor_default")]
    below, compared = set(), 0
    for problem in PROBLEMS:
        stated = [t[problem.parent.name][problem.name]["mean"] / 1e3 for t in timings
                  if problem.name in t[problem.parent.name]]
        if stated:
            (one,) = bounds(capture(problem), resolve(["H100 PCIe"]), measured_s=min(stated)).devices
            compared += 1
            if one.headroom.status.startswith("below"):
                below.add(problem.name)
    assert compared > 50 and below == set()
