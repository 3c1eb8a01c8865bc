"""An int8 product accumulated to int32."""

import torch
from torch import nn

M = 4096
K = 4096
N = 11008


class Model(nn.Module):
    def forward(self, a, b):
        return torch._int_mm(a, b)


def get_inputs():
    return [
        torch.randint(-128, 127, (M, K), dtype=torch.int8),
        torch.randint(-128, 127, (K, N), dtype=torch.int8),
    ]


def get_init_inputs():
    return []
