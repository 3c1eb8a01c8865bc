"""Transposed 1d convolution that makes eight samples of one (HiFi-GAN)."""

import torch
import torch.nn.functional as F
from torch import nn

B = 16
CI = 512
CO = 256
T = 400


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose1d(CI, CO, 16, stride=8, padding=4)

    def forward(self, x):
        return self.up(F.leaky_relu(x, 0.1))


def get_inputs():
    return [torch.randn(B, CI, T)]


def get_init_inputs():
    return []
