"""Elementwise work with a scale and a shift that the inputs expand."""

import torch
from torch import nn

B = 64
L = 1024
D = 768


class Model(nn.Module):
    def forward(self, x, scale, shift):
        return torch.sigmoid(x * scale + shift)


def get_inputs():
    return [
        torch.randn(B, L, D),
        torch.rand(D).expand(B, L, D),
        torch.rand(B, 1, D).expand(B, L, D),
    ]


def get_init_inputs():
    return []
