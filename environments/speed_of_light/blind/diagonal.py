"""A diagonal matrix times a dense one."""

import torch
from torch import nn

N = 4096
M = 4096


class Model(nn.Module):
    def forward(self, d, b):
        return torch.diag(d) @ b


def get_inputs():
    return [torch.rand(N), torch.rand(N, M)]


def get_init_inputs():
    return []
