"""Time one forward pass of a model file: the median in milliseconds, on the GPU where there is one.

    python examples/time_model.py examples/gpt2.py

The file has a class `Model` (or the one that --target names), `get_inputs()` and, if the constructor takes arguments,
`get_init_inputs()`. The pass runs in eval mode without gradients, as the speed of light is worked out; caches are warm.
"""

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils.benchmark import Timer


def median_ms(file: Path, target: str, seconds: float, device: str) -> float:
    """The median time of one forward pass in ms, over at least `seconds` of passes."""
    sys.path.insert(0, str(file.resolve().parent))  # what the file imports from its own folder
    names = runpy.run_path(str(file))
    init: Any = names.get("get_init_inputs", list)()
    made = names[target]
    if isinstance(made, type):
        made = (made(**init) if isinstance(init, dict) else made(*init)).to(device).eval()
    inputs = names["get_inputs"]()
    if isinstance(inputs, torch.Tensor):
        inputs = [inputs]
    args, kwargs = torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda t: t.to(device), ([], inputs) if isinstance(inputs, dict) else (list(inputs), {}))
    with torch.no_grad():
        timer = Timer("made(*args, **kwargs)", globals={"made": made, "args": args, "kwargs": kwargs},
                      num_threads=torch.get_num_threads())
        return timer.blocked_autorange(min_run_time=seconds).median * 1e3


def main(argv: list[str] | None = None) -> None:
    """Print the median and where it was measured."""
    parser = argparse.ArgumentParser(description="Time one forward pass of a PyTorch model file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", default="Model", help="the class or function to time (default: Model)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time to measure for (default: 2)")
    given = parser.parse_args(argv)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    print(f"{median_ms(given.file, given.target, given.seconds, device):.4g} ms on {where}")


if __name__ == "__main__":
    main()
