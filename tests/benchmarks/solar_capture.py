"""What capturing and pricing a PyTorch model takes, beside `torch.export` of the same module.

Three ratios, each in a process of its own with all imports and a small model before the clock starts:

- CPU of capture and bounds over CPU of `torch.export.export`, of a decoder with `--layers` layers;
- CPU per layer of capture and bounds, forward and backward, at 1,000 layers over that at 100;
- peak memory of capture and bounds of the forward and backward pass of 80 layers shaped as in a model of 70 billion
  parameters.

`--json` prints the figures as one object. Exit 1 where one is above its bar (1.2, 1.5, 1.5 GiB).
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARS = {"over_export": 1.2, "per_layer": 1.5, "peak_gib": 1.5}

DECODER = """
import torch
import torch.nn.functional as F
from torch import nn

LAYERS, WIDTH, HEADS, KV, HIDDEN, WORDS, LENGTH = {layers}, 8192, 64, 8, 28672, 128256, 4096
HEAD = WIDTH // HEADS


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, n * HEAD, bias=False) for n in (HEADS, KV, KV))
        self.o = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        h = self.before(x)
        q, k, v = (f(h).view(batch, length, -1, HEAD).transpose(1, 2) for f in (self.q, self.k, self.v))

        def turned(z):
            left, right = z.chunk(2, -1)
            return z * cos + torch.cat([-right, left], -1) * sin

        y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        h = self.after(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), nn.RMSNorm(WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, ids):
        x = self.words(ids)
        rates = 1.0 / 10000 ** (torch.arange(0, HEAD, 2) / HEAD)
        angles = torch.outer(torch.arange(ids.shape[1]), rates)
        cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def get_inputs():
    return [torch.randint(0, WORDS, (1, LENGTH))]
"""


def decoder(folder: Path, layers: int) -> Path:
    path = folder / f"decoder_{layers}.py"
    path.write_text(DECODER.format(layers=layers), encoding="utf-8")
    return path


def inside(what: str, layers: int) -> dict[str, float]:
    """One measurement; runs in a process of its own."""
    from enlist.tools.solar.hardware import resolve
    from enlist.tools.solar.pricing.bounds import bounds
    from enlist.tools.solar.pytorch.capture import capture

    with tempfile.TemporaryDirectory() as folder:
        devices = resolve(["H100 SXM"])
        for measured in (1, layers):  # the small one imports everything
            path = decoder(Path(folder), measured)
            start = time.process_time()
            if what == "export":
                start = exported(path)
            else:
                bounds(capture(path, training="backward" if what == "training" else None), devices)
            cpu = time.process_time() - start
    return {"cpu_s": cpu, "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)}


def exported(path: Path) -> float:
    """Export the model of a file; the CPU time at which the export began."""
    import torch

    made: dict[str, object] = {}
    exec(path.read_text(encoding="utf-8"), made)
    torch.set_default_device("meta")  # so that no weight takes memory
    module, inputs = made["Model"](), made["get_inputs"]()  # type: ignore[operator]
    start = time.process_time()
    torch.export.export(module, tuple(inputs), strict=False)
    return start


def measured(what: str, layers: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--inside", what, "--layers", str(layers)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=80, help="layers of the decoder that is exported")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", choices=["forward", "training", "export"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(inside(given.inside, given.layers)))
        return 0
    ours, export = measured("forward", given.layers), measured("export", given.layers)
    hundred, thousand, large = measured("training", 100), measured("training", 1000), measured("training", 80)
    figures = {"over_export": ours["cpu_s"] / export["cpu_s"],
               "per_layer": thousand["cpu_s"] / 1000 / (hundred["cpu_s"] / 100), "peak_gib": large["peak_gib"]}
    if given.json:
        print(json.dumps(figures | {"capture_and_bounds_s": ours["cpu_s"], "export_s": export["cpu_s"],
                                    "cpu_s_100": hundred["cpu_s"], "cpu_s_1000": thousand["cpu_s"]}))
    else:
        print(f"capture and bounds {ours['cpu_s']:.1f} s of CPU, torch.export {export['cpu_s']:.1f} s: "
              f"{figures['over_export']:.2f} (bar {BARS['over_export']})")
        print(f"forward and backward, 100 layers {hundred['cpu_s']:.1f} s, 1,000 layers {thousand['cpu_s']:.1f} s: "
              f"{figures['per_layer']:.2f} per layer (bar {BARS['per_layer']})")
        print(f"forward and backward of 80 layers of 70 billion parameters: {figures['peak_gib']:.2f} GiB at most "
              f"(bar {BARS['peak_gib']})")
    return int(any(figures[name] > bar for name, bar in BARS.items()))


if __name__ == "__main__":
    sys.exit(main())
