"""Bounds and estimates against KernelBench's published H100 PCIe times, levels 1 to 3.

    python tests/benchmarks/solar_kernelbench.py [--data FOLDER] [--graphs FOLDER] [--json]

For each problem the smaller mean of eager and compiled execution stands against the bounds (a violation is a bound
above it), the estimate, and the trivial roofline: bytes of parameters, inputs and outputs over bandwidth, FLOP by
`FlopCounterMode` over the widest peak that PyTorch's defaults allow. `--graphs` keeps captured graphs between runs.
"""

import argparse
import json
import os
import statistics
import sys
import warnings
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import Device, resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.pytorch.load import load_model

LEVELS = ("level1", "level2", "level3")
TIMINGS = ("baseline_time_torch.json", "baseline_time_torch_compile_inductor_default.json")


@dataclass(frozen=True)
class Row:
    """Seconds of one problem; `less` names the structure that lowered its FLOP or bytes."""

    problem: str
    measured: float
    fused: float
    cache_aware: float
    unfused: float
    estimate: float
    trivial: float
    coverage: float
    less: str


def trivial(problem: Path, device: Device) -> float:
    """The roofline that one works out by hand."""
    loaded = load_model(problem)
    leaves = torch.utils._pytree.tree_leaves
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        output = loaded.module(*loaded.args, **loaded.kwargs)
    held = [*loaded.module.parameters(), *loaded.module.buffers(), *leaves((loaded.args, loaded.kwargs)),
            *leaves(output)]
    moved = sum(t.numel() * t.element_size() for t in held if isinstance(t, torch.Tensor))
    tf32 = any(isinstance(m, torch.nn.modules.conv._ConvNd) for m in loaded.module.modules()) or (
        "scaled_dot_product_attention" in problem.read_text(encoding="utf-8"))
    peak = device.peak("tensor.tf32" if tf32 else "tensor.fp32")
    return max(moved / device.dram_bandwidth.value, counter.get_total_flops() / peak)


def graph_of(problem: Path, kept: Path | None) -> Graph:
    """The captured graph, from the folder of kept ones where it is there."""
    file = kept / f"{problem.parent.name}-{problem.stem}.json" if kept else None
    if file is not None and file.exists():
        return Graph.model_validate_json(file.read_text(encoding="utf-8"))
    graph = capture(problem)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(graph.model_dump_json(exclude_defaults=True), encoding="utf-8")
    return graph


def rows(data: Path, kept: Path | None) -> tuple[list[Row], dict[str, str]]:
    """A row for each problem with a published time, and the problems that could not be analysed with the reason."""
    (device,) = resolve(["H100 PCIe"])
    timings = [json.loads((data / "timing_H100_PCIe" / name).read_text(encoding="utf-8")) for name in TIMINGS]
    made, failed = [], {}
    for problem in sorted(p for level in LEVELS for p in (data / level).glob("*.py")):
        level, name = problem.parent.name, problem.name
        measured = [t[level][name]["mean"] / 1e3 for t in timings if name in t.get(level, {})]
        if not measured:
            continue
        try:
            found = bounds(graph_of(problem, kept), [device])
        except EnlistError as error:
            failed[f"{level}/{name}"] = error.sentence()
            continue
        one = found.devices[0]
        made.append(Row(f"{level}/{name}", min(measured), one.fused_s, one.cache_aware_s, one.unfused_s, one.estimate_s,
                        trivial(problem, device), min(found.coverage.flop, found.coverage.bytes),
                        next((t.less for t in one.terms if t.less), "")))
        print(f"{len(made):4d} {level}/{name}", file=sys.stderr)
    return made, failed


def summary(made: list[Row], failed: dict[str, str]) -> dict[str, Any]:
    """What the issue asks: violations, bounds below the trivial roofline without a reason, errors of the estimate."""
    def errors(field: str) -> dict[str, float]:
        logs = sorted(abs(log(r.measured / getattr(r, field))) for r in made if getattr(r, field) > 0)
        return {"median": statistics.median(logs), "p90": logs[int(0.9 * len(logs))],
                "median_ratio": exp(statistics.median(logs)), "worst_ratio": exp(logs[-1])}

    return {
        "problems": len(made), "failed": failed,
        "violations": [r.problem for r in made if r.measured < max(r.fused, r.cache_aware)],
        "below_trivial_unexplained": [r.problem for r in made if r.fused < r.trivial * (1 - 1e-6) and not r.less],
        "least_coverage": min(r.coverage for r in made), "estimate": errors("estimate"), "trivial": errors("trivial"),
        "fused": errors("fused"), "unfused": errors("unfused")}


def main() -> None:
    """Measure, print."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    shared = Path(__file__).parents[3] / "shared" / "data"
    parser.add_argument("--data", type=Path,
                        default=Path(os.environ.get("ENLIST_DATA", shared)) / "kernels" / "kernelbench")
    parser.add_argument("--graphs", type=Path, help="folder that keeps captured graphs")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.data.is_dir():
        print("KernelBench is not there: give its folder with --data, or set ENLIST_DATA")
        return
    made, failed = rows(given.data, given.graphs)
    found = summary(made, failed)
    if given.json:
        print(json.dumps(found | {"rows": [asdict(r) for r in made]}, indent=1))
        return
    print(f"{found['problems']} problems, {len(failed)} not analysed, {len(found['violations'])} violations, "
          f"{len(found['below_trivial_unexplained'])} below the trivial roofline without a named structure, "
          f"least coverage {found['least_coverage']:.4f}")
    print("| against the smaller mean | median | 90th percentile | median ratio | worst ratio |\n|---|---|---|---|---|")
    for field in ("estimate", "trivial", "fused", "unfused"):
        e = found[field]
        print(f"| {field} | {e['median']:.3f} | {e['p90']:.3f} | {e['median_ratio']:.2f} | {e['worst_ratio']:.1f} |")
    for problem, reason in failed.items():
        print(f"not analysed: {problem}: {reason}")


if __name__ == "__main__":
    main()
