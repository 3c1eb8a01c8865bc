"""A lower triangular operand, made by get_inputs, times a dense one."""

import torch
from torch import nn

N = 4096
M = 2048


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.tril(torch.rand(N, N)), torch.rand(N, M)]


def get_init_inputs():
    return []
