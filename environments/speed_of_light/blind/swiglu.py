"""The gated MLP of LLaMA in bfloat16."""

import torch
import torch.nn.functional as F
from torch import nn

M = 2048
D = 4096
U = 11008


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        kw = {"bias": False, "dtype": torch.bfloat16}
        self.gate = nn.Linear(D, U, **kw)
        self.up = nn.Linear(D, U, **kw)
        self.down = nn.Linear(U, D, **kw)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def get_inputs():
    return [torch.randn(M, D, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
