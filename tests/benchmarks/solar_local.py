"""Does this CPU ever beat its calibrated bound? Modules with small shapes, timed with cold caches between the rounds
of the calibration.

Each round runs every calibration kernel once and then every module once, each after a pass over memory that puts its
data out of the caches; so whatever else the machine does meets kernels and modules alike. A module's best time is held
against its fused bound on the device of that very run: below it is a violation. It is decided where it holds against
the third-best roofs too, which no single lucky moment made, and where its own third-best time is near its best. Rounds
go on, up to `--most`, while a module is undecided; the verdict is refused where fewer than 40 are decided. Prints one
row per module and the load; `--json` prints everything, with the verdict, as one object. Exit 1 on a violation.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from enlist.tools.solar.hardware.calibration import Run, prepared, usable_cpus
from enlist.tools.solar.hardware.local import as_device
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture

LEAST_DECIDED = 40
MODULE_AGAIN = 2.0  # third best over best time, beyond which nothing is concluded
ROUNDS, MOST = 12, 60
CALIBRATIONS = 2  # rounds of the calibration for one of the modules
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch is imported: a waiting thread leaves its CPU

_X = "torch.rand(8, 64, 56, 56)"  # 6 MB
_V = "torch.rand(64, 128, 512)"  # 16 MB
_M = "torch.rand(512, 512)"
_HEADS = ", ".join(["torch.rand(2, 8, 256, 64)"] * 3)

CASES: dict[str, tuple[str, str, str]] = {  # forward over a, b, c; inputs; what __init__ makes
    "square product": ("a @ b", f"{_M}, {_M}", "pass"),
    "wide product": ("a @ b", "torch.rand(256, 2048), torch.rand(2048, 256)", "pass"),
    "tall product": ("a @ b", "torch.rand(4096, 32), torch.rand(32, 512)", "pass"),
    "outer product": ("a @ b", "torch.rand(2048, 1), torch.rand(1, 2048)", "pass"),
    "batched product": ("torch.bmm(a, b)", "torch.rand(32, 128, 128), torch.rand(32, 128, 128)", "pass"),
    "matrix times vector": ("a @ b", "torch.rand(2048, 2048), torch.rand(2048, 1)", "pass"),
    "double precision product": ("a @ b", "torch.rand(384, 384).double(), torch.rand(384, 384).double()", "pass"),
    "bfloat16 product": ("a @ b", f"{_M}.bfloat16(), {_M}.bfloat16()", "pass"),
    "transposed operand": ("a.t() @ b", f"{_M}, {_M}", "pass"),
    "scaled by rows": ("a.unsqueeze(1) * b", "torch.rand(2048), torch.rand(2048, 1024)", "pass"),
    "relu": ("F.relu(a)", _V, "pass"),
    "leaky relu": ("F.leaky_relu(a, 0.01)", _V, "pass"),
    "sigmoid": ("torch.sigmoid(a)", _V, "pass"),
    "tanh": ("torch.tanh(a)", _V, "pass"),
    "gelu": ("F.gelu(a)", _V, "pass"),
    "swish": ("a * torch.sigmoid(a)", _V, "pass"),
    "softplus": ("F.softplus(a)", _V, "pass"),
    "hardtanh": ("F.hardtanh(a)", _V, "pass"),
    "softmax": ("torch.softmax(a, -1)", _V, "pass"),
    "log softmax": ("F.log_softmax(a, -1)", _V, "pass"),
    "sum of two": ("a + b", f"{_V}, {_V}", "pass"),
    "copy of a transpose": ("a.t().contiguous()", "torch.rand(2048, 2048)", "pass"),
    "concatenation": ("torch.cat([a, b], 1)", f"{_V}, {_V}", "pass"),
    "total": ("a.sum()", _V, "pass"),
    "sum over rows": ("a.sum(1)", _V, "pass"),
    "mean over columns": ("a.mean(-1)", _V, "pass"),
    "maximum over rows": ("a.amax(1)", _V, "pass"),
    "frobenius norm": ("a / torch.linalg.vector_norm(a)", _V, "pass"),
    "rms norm": ("a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-5)", _V, "pass"),
    "layer norm": ("self.n(a)", _V, "self.n = nn.LayerNorm(512)"),
    "batch norm": ("self.n(a)", _X, "self.n = nn.BatchNorm2d(64)"),
    "group norm": ("self.n(a)", _X, "self.n = nn.GroupNorm(8, 64)"),
    "max pool": ("F.max_pool2d(a, 2)", _X, "pass"),
    "average pool": ("F.avg_pool2d(a, 2)", _X, "pass"),
    "global average": ("F.adaptive_avg_pool2d(a, 1)", _X, "pass"),
    "convolution 3x3": ("self.c(a)", "torch.rand(2, 64, 56, 56)", "self.c = nn.Conv2d(64, 64, 3, padding=1)"),
    "convolution 1x1": ("self.c(a)", _X, "self.c = nn.Conv2d(64, 64, 1)"),
    "depthwise convolution": ("self.c(a)", _X, "self.c = nn.Conv2d(64, 64, 3, padding=1, groups=64)"),
    "convolution 1d": ("self.c(a)", "torch.rand(8, 64, 2048)", "self.c = nn.Conv1d(64, 64, 5)"),
    "convolution 3d": ("self.c(a)", "torch.rand(2, 16, 16, 28, 28)", "self.c = nn.Conv3d(16, 16, 3)"),
    "transposed convolution": ("self.c(a)", "torch.rand(2, 32, 28, 28)",
                               "self.c = nn.ConvTranspose2d(32, 32, 3, stride=2)"),
    "mean squared error": ("F.mse_loss(a, b)", f"{_V}, {_V}", "pass"),
    "cosine similarity": ("F.cosine_similarity(a, b, dim=-1)", f"{_V}, {_V}", "pass"),
    "linear, relu, linear": ("self.v(F.relu(self.u(a)))", "torch.rand(256, 512)",
                             "self.u, self.v = nn.Linear(512, 1024), nn.Linear(1024, 512)"),
    "convolution, norm, relu": ("F.relu(self.n(self.c(a)))", "torch.rand(2, 32, 56, 56)",
                                "self.c, self.n = nn.Conv2d(32, 64, 3), nn.BatchNorm2d(64)"),
    "attention": ("F.scaled_dot_product_attention(a, b, c)", _HEADS, "pass"),
    "causal attention": ("F.scaled_dot_product_attention(a, b, c, is_causal=True)", _HEADS, "pass"),
    "embedding": ("self.e(a)", "torch.randint(0, 8192, (4096,))", "self.e = nn.Embedding(8192, 256)"),
    "elementwise chain": ("((a * 2 + 1).relu() - 0.5).abs() * b", f"{_V}, {_V}", "pass"),
}


def model_file(forward: str, inputs: str, init: str) -> str:
    """A model file in the form that the capture reads."""
    names = ", ".join("abc"[:len(eval(f"[{inputs}]", {"torch": _Counted()}))])
    return (f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n        {init}\n\n"
            f"    def forward(self, {names}):\n        return {forward}\n\n\n"
            f"def get_inputs():\n    return [{inputs}]\n")


class _Counted:
    """Stands for torch where only the number of inputs matters."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: _Counted()

    def __call__(self) -> "_Counted":
        return self


@dataclass(frozen=True)
class Row:
    """One module: the fused bound, that by third-best roofs, and the times; in seconds."""

    name: str
    bound: float
    strict: float
    roof: str
    best: float
    third: float
    status: str

    def line(self) -> str:
        milliseconds = " ".join(f"{t * 1e3:9.4f}" for t in (self.bound, self.strict, self.best, self.third))
        return f"{self.name:26} {milliseconds} {self.best / self.bound:8.2f}  {self.roof:12} {self.status}"


class Bench:
    """Modules and calibration, run in turn."""

    def __init__(self, folder: Path, run: Run, flush_bytes: int) -> None:
        import torch

        self.run, self.graphs, self.calls, self.times = run, {}, {}, {name: [] for name in CASES}
        self.flush = torch.zeros(flush_bytes // 4)
        for number, (name, case) in enumerate(CASES.items()):
            path = folder / f"case_{number}.py"
            path.write_text(model_file(*case), encoding="utf-8")
            self.graphs[name] = capture(path)
            space: dict[str, Any] = {}
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
            self.calls[name] = (space["Model"]().eval(), space["get_inputs"]())

    def round(self) -> None:
        """The calibration kernels, then every module with cold caches."""
        import torch

        for _ in range(CALIBRATIONS):
            self.run.round()
        with torch.no_grad():
            for name, (model, inputs) in self.calls.items():
                self.flush.add_(1.0)
                start = time.perf_counter()
                out = model(*inputs)
                self.times[name].append(time.perf_counter() - start)
                del out

    def rows(self) -> list[Row]:
        result = self.run.result()
        devices, made = (as_device(result), as_device(result.settled())), []
        for name, graph in self.graphs.items():
            one, strict = bounds(graph, devices).devices
            best, _, third = sorted(self.times[name])[:3]
            status = ("violation" if best < one.fused_s else
                      "undecided" if best < strict.fused_s or third / best > MODULE_AGAIN else "holds")
            made.append(Row(name, one.fused_s, strict.fused_s, one.limiting_roof, best, third, status))
        return made

    def unsettled(self) -> bool:
        """Whether more rounds could change what is concluded."""
        return any(row.status != "holds" for row in self.rows())


def roofs_used(rows: list[Row], roofs: tuple[str, ...]) -> list[str]:
    """The roofs that decide about some module."""
    return sorted({"dram"} | {r.roof for r in rows if r.roof in roofs})


def measure(rounds: int, most: int, quick: bool) -> dict[str, Any]:
    """The whole benchmark as one object."""
    import torch

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with prepared(folder, quick=quick) as run:
            flush = 4 * run.caches[-1].capacity
            bench = Bench(folder, run, flush)
            gc.disable()
            done = 0
            while done < rounds or (done < most and bench.unsettled()):
                bench.round()
                done += 1
            gc.enable()
            rows, result = bench.rows(), run.result()
    again = {roof: result.repeated(roof) for roof in roofs_used(rows, result.roofs)}
    decided = [r for r in rows if r.status != "undecided"]
    violations = [r.name for r in rows if r.status == "violation"]
    verdict = ("violated" if violations else "undecided" if len(decided) < LEAST_DECIDED else "holds")
    return {"cpu": result.cpu, "threads": usable_cpus(), "torch_threads": torch.get_num_threads(), "load": result.load,
            "rounds": done, "roofs": {r: result.roof(r) for r in result.roofs}, "again": again,
            "spreads": {r: result.spread(r) for r in again},
            "rows": [asdict(r) for r in rows], "lines": [r.line() for r in rows], "decided": len(decided),
            "violations": violations, "verdict": verdict,
            "median_ratio": sorted(r.best / r.bound for r in rows)[len(rows) // 2]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--most", type=int, default=MOST, help="rounds at most")
    parser.add_argument("--quick", action="store_true", help="smaller calibration kernels")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    found = measure(given.rounds, given.most, given.quick)
    lines = found.pop("lines")
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{'module':26} {'bound ms':>9} {'strict':>9} {'best ms':>9} {'third':>9} {'best/bnd':>8}  roof")
        print("\n".join(lines))
        roofs = ", ".join(f"{r} {found['roofs'][r] / 1e9:.4g} G/s (best over third {ratio:.2f}, over median "
                          f"{found['spreads'][r]:.2f})" for r, ratio in found["again"].items())
        print(f"\n{found['cpu']}, {found['threads']} threads, load {found['load'][0]} to {found['load'][1]}, "
              f"{found['rounds']} rounds\nroofs: {roofs}\nmedian of best over bound: {found['median_ratio']:.2f}\n"
              f"{found['verdict']}: {found['decided']} of {len(lines)} modules decided, violations: "
              f"{', '.join(found['violations']) or 'none'}")
    return 1 if found["verdict"] == "violated" else 0


if __name__ == "__main__":
    sys.exit(main())
