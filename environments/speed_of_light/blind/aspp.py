"""Parallel dilated convolutions; the last dilation is wider than the map."""

import torch
import torch.nn.functional as F
from torch import nn

B = 8
CI = 512
CO = 256
S = 32
R1 = 12
R2 = 24
R3 = 36


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(CI, CO, 3, padding=r, dilation=r, bias=False) for r in (R1, R2, R3))

    def forward(self, x):
        return torch.cat([F.relu(conv(x)) for conv in self.convs], dim=1)


def get_inputs():
    return [torch.randn(B, CI, S, S)]


def get_init_inputs():
    return []
