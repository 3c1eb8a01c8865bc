"""Random Fourier features: the projection is a constant buffer, longer than what is used."""

import torch
from torch import nn

M = 16384
K = 256
N = 512
Q = 2048


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("omega", torch.randn(Q, K))
        self.register_buffer("phase", torch.rand(Q) * 6.28)

    def forward(self, x):
        return torch.cos(x @ self.omega[:N].t() + self.phase[:N])


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return []
