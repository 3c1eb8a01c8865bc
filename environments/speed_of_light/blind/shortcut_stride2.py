"""A 1x1 convolution with stride 2 sees one pixel in four."""

import torch
from torch import nn

B = 32
CI = 256
CO = 512
S = 56


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(CI, CO, 1, stride=2)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(B, CI, S, S)]


def get_init_inputs():
    return []
