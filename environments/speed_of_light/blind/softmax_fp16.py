"""Softmax over the last dimension in float16."""

import torch
from torch import nn

N = 4096
V = 32000


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(N, V, dtype=torch.float16)]


def get_init_inputs():
    return []
