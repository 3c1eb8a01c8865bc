"""A batched product in float16."""

import torch
from torch import nn

B = 128
M = 512
K = 256
N = 1024


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.rand(B, M, K, dtype=torch.float16), torch.rand(B, K, N, dtype=torch.float16)]


def get_init_inputs():
    return []
