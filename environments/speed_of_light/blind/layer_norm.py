"""Layer norm alone."""

import torch
from torch import nn

N = 16384
D = 1024


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(N, D)]


def get_init_inputs():
    return []
