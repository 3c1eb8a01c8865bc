"""Solvers of speed-of-light tasks: a trivial one, torch's own counter with a roofline, our method, and our method with
one fault each."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from enlist.environments.contract import Solver, Submission, Task
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds

DEVICES = ("H100 SXM", "H100 PCIe", "A100 SXM 80GB")
UNITS = ("vector.fp32", "tensor.tf32", "tensor.bf16", "tensor.fp16", "tensor.int8")
Answer = dict[str, float]


@cache
def figures(device: str) -> Mapping[str, float]:
    """Bytes/s of DRAM and FLOP/s by unit, from the data sheet."""
    (sheet,) = (d for d in resolve([device]) if d.name == device)
    return {"dram": sheet.dram_bandwidth.value, **{unit: sheet.peak(unit) for unit in UNITS}}


@dataclass(frozen=True)
class BoundSolver:
    """A solver around a function of a module file and a device name."""

    name: str
    answer: Callable[[Path, str], Answer]

    def solve(self, task: Task) -> Submission:
        """Write the module to a scratch file and bound it; the module's code runs in this process: it is ours."""
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "module.py"
            path.write_text(str(task.payload["source"]), encoding="utf-8")
            answer = self.answer(path, str(task.payload["device"]))
        return Submission(task=task.id, answer=dict(answer), cost={"seconds": time.perf_counter() - started})


def _trivial(path: Path, device: str) -> Answer:
    """Nothing can be faster than no time at all."""
    return {"matrix_flop": 0, "fused_bytes": 0, "fused_s": 0.0, "unfused_s": 0.0}


def _classical(path: Path, device: str) -> Answer:
    """What one does by hand: FLOP by torch's counter, bytes of parameters, inputs and outputs, and a roofline."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from enlist.tools.solar.pytorch.load import load_model

    loaded = load_model(path)
    leaves = torch.utils._pytree.tree_leaves
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        output = loaded.module(*loaded.args, **loaded.kwargs)
    held = [*loaded.module.parameters(), *leaves((loaded.args, loaded.kwargs)), *leaves(output)]
    moved = sum(t.numel() * t.element_size() for t in held if isinstance(t, torch.Tensor))
    flop, sheet = counter.get_total_flops(), figures(device)
    has_convolution = any(isinstance(m, torch.nn.modules.conv._ConvNd) for m in loaded.module.modules())
    half = any(t.dtype == torch.bfloat16 for t in held if isinstance(t, torch.Tensor))
    attention = "scaled_dot_product_attention" in path.read_text(encoding="utf-8")
    unit = "tensor.bf16" if half else "tensor.tf32" if has_convolution or attention else "vector.fp32"
    seconds = max(moved / sheet["dram"], flop / sheet[unit])
    return {"matrix_flop": flop, "fused_bytes": moved, "fused_s": seconds, "unfused_s": seconds}


def _solar(path: Path, device: str, change: Callable[[Graph], Graph] = lambda graph: graph) -> Answer:
    from enlist.tools.solar.pytorch.capture import capture

    (sheet,) = (d for d in resolve([device]) if d.name == device)
    return _of(bounds(change(capture(path)), [sheet]))


def _of(found: Bounds) -> Answer:
    (one,) = found.devices
    return {"matrix_flop": sum(found.matrix_flop.values()), "fused_bytes": found.fused_bytes, "fused_s": one.fused_s,
            "unfused_s": one.unfused_s}


def _without_output(graph: Graph) -> Graph:
    """Outputs that are written are forgotten."""
    return graph.model_copy(update={"tensors": tuple(
        t.model_copy(update={"is_output": False, "role": "intermediate" if t.role == "output" else t.role})
        for t in graph.tensors)})


def _half_width(graph: Graph) -> Graph:
    """Every float32 is priced as bfloat16, every bfloat16 as fp8."""
    narrower = {"float32": "bfloat16", "bfloat16": "float8_e4m3fn", "float16": "float8_e4m3fn"}
    return graph.model_copy(update={"tensors": tuple(
        t.model_copy(update={"dtype": narrower.get(t.dtype, t.dtype)}) for t in graph.tensors)})


def _macs(path: Path, device: str) -> Answer:
    """Multiply-adds are called FLOP, and their time is halved with them."""
    right, sheet = _solar(path, device), figures(device)
    return right | {"matrix_flop": right["matrix_flop"] / 2,
                    "fused_s": max(right["fused_bytes"] / sheet["dram"], right["fused_s"] / 2)}


def _sparse(path: Path, device: str) -> Answer:
    """All rates are those "with sparsity", the bandwidth is taken both ways."""
    right = _solar(path, device)
    return right | {"fused_s": right["fused_s"] / 2, "unfused_s": right["unfused_s"] / 2}


def _dense(path: Path, device: str) -> Answer:
    """Three times the work: what an optimist calls tight and nothing bears out."""
    return {name: value * 3 for name, value in _solar(path, device).items()}


SOLVERS: dict[str, Solver] = {s.name: s for s in (
    BoundSolver("trivial", _trivial), BoundSolver("classical", _classical), BoundSolver("solar", _solar))}
MUTANTS: dict[str, Solver] = {s.name: s for s in (
    BoundSolver("dropped output", lambda path, device: _solar(path, device, _without_output)),
    BoundSolver("wrong dtype", lambda path, device: _solar(path, device, _half_width)),
    BoundSolver("MAC for FLOP", _macs), BoundSolver("sparse peak", _sparse), BoundSolver("three times", _dense))}
