"""Grouped 3x3 convolution with batch norm and ReLU."""

import torch
import torch.nn.functional as F
from torch import nn

B = 32
C = 256
G = 32
S = 28


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(C, C, 3, padding=1, groups=G, bias=False)
        self.bn = nn.BatchNorm2d(C)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def get_inputs():
    return [torch.randn(B, C, S, S)]


def get_init_inputs():
    return []
