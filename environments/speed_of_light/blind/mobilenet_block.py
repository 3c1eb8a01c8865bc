"""Depthwise 3x3 convolution with stride 2, then pointwise."""

import torch
import torch.nn.functional as F
from torch import nn

B = 64
C = 128
CO = 256
S = 56


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.dw = nn.Conv2d(C, C, 3, stride=2, padding=1, groups=C, bias=False)
        self.bn1 = nn.BatchNorm2d(C)
        self.pw = nn.Conv2d(C, CO, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(CO)

    def forward(self, x):
        x = F.relu6(self.bn1(self.dw(x)))
        return F.relu6(self.bn2(self.pw(x)))


def get_inputs():
    return [torch.randn(B, C, S, S)]


def get_init_inputs():
    return []
