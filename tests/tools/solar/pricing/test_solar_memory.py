"""The memory bound beside what PyTorch really holds on this CPU: the sum of live storages after every operator.

Storages are followed by weak references of their own, so what only autograd keeps is counted too. The bound may be
beaten by no run; that it is no empty promise is told by how much of the peak it is.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
MLP = HEAD + """    def __init__(self):
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(256, 1024), nn.LayerNorm(1024), nn.Linear(1024, 256)

    def forward(self, x):
        return self.down(self.norm(F.gelu(self.up(x)))).square().mean()


def get_inputs():
    return [torch.rand(64, 256)]
"""
CONVOLUTIONS = HEAD + """    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.second(torch.relu(self.first(x)))), 2)
        return self.head(x.mean((2, 3))).square().mean()


def get_inputs():
    return [torch.rand(4, 3, 32, 32)]
"""
ATTENTION = HEAD + """    def __init__(self):
        super().__init__()
        self.table, self.joint, self.out = nn.Embedding(500, 128), nn.Linear(128, 384), nn.Linear(128, 128)

    def forward(self, ids):
        x = self.table(ids)
        q, k, v = (t.unflatten(-1, (4, 32)).transpose(1, 2) for t in self.joint(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return (self.out(mixed) @ self.table.weight.T).square().mean()


def get_inputs():
    return [torch.zeros(2, 64, dtype=torch.long)]
"""


def peak(run: Callable[[], None], held: list[Any]) -> int:
    """Bytes of live storages at their most, of those that are held from the start and those that operators make."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode

    live: dict[int, tuple[Any, int]] = {}
    most = 0

    def look(value: Any) -> None:
        nonlocal most
        for tensor in torch.utils._pytree.tree_leaves(value):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                live[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        for address in [a for a, (reference, _) in live.items() if reference.expired()]:
            del live[address]
        most = max(most, sum(size for _, size in live.values()))

    class Watched(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            look(made)
            return made

    look(held)
    with Watched():
        run()
    return most


@pytest.mark.parametrize("training", [None, "step:adamw"])
@pytest.mark.parametrize("text", [MLP, CONVOLUTIONS, ATTENTION], ids=["mlp", "convolutions", "attention"])
def test_pytorch_never_holds_less_than_the_bound(model_file: Callable[..., Path], text: str,
                                                 training: str | None) -> None:
    import torch

    names: dict[str, Any] = {}
    exec(text, names)
    model, inputs = names["Model"](), names["get_inputs"]()
    found = bounds(capture(model_file(text=text), training=training), resolve(["H100 PCIe"])).devices[0].memory
    if training is None:
        with torch.no_grad():
            measured = peak(lambda: model(*inputs), [*inputs, *model.parameters()])
        assert 0 < found.total <= measured
        return
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def step() -> None:
        optimizer.zero_grad()
        model(*inputs).backward()
        optimizer.step()

    step()  # makes the states
    states = [t for state in optimizer.state.values() for t in state.values()]
    measured = peak(step, [*inputs, *model.parameters(), *states])
    assert found.gradients == found.weights == found.optimizer // 2 > 0
    assert found.total <= measured < 2 * (found.total + found.saved)
