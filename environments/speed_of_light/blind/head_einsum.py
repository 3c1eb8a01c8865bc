"""Projection to heads by einsum, in float32."""

import torch
from torch import nn

B = 8
L = 1024
D = 768
H = 12
K = 64


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(H, D, K) * 0.02)

    def forward(self, x):
        return torch.einsum("bld,hdk->bhlk", x, self.w)


def get_inputs():
    return [torch.randn(B, L, D)]


def get_init_inputs():
    return []
