"""Transposed 2d convolution that doubles the map (DCGAN)."""

import torch
from torch import nn

B = 64
CI = 256
CO = 128
S = 32


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(CI, CO, 4, stride=2, padding=1, bias=False)

    def forward(self, x):
        return torch.tanh(self.up(x))


def get_inputs():
    return [torch.randn(B, CI, S, S)]


def get_init_inputs():
    return []
