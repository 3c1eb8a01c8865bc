"""Elementwise work on int64, compared to bool."""

import torch
from torch import nn

N = 1 << 24


class Model(nn.Module):
    def forward(self, a, b):
        h = (a * 31 + b) % 1000003
        return h, h > 500000


def get_inputs():
    return [torch.randint(0, 1 << 20, (N,)), torch.randint(0, 1 << 20, (N,))]


def get_init_inputs():
    return []
