"""A matrix times a vector."""

import torch
from torch import nn

M = 16384
K = 16384


class Model(nn.Module):
    def forward(self, a, v):
        return a @ v


def get_inputs():
    return [torch.rand(M, K), torch.rand(K)]


def get_init_inputs():
    return []
