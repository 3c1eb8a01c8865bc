"""3d convolution over a clip, stride 2 in space only."""

import torch
import torch.nn.functional as F
from torch import nn

B = 4
CI = 64
CO = 128
T = 16
S = 56


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(CI, CO, 3, stride=(1, 2, 2), padding=1)

    def forward(self, x):
        return F.relu(self.conv(x))


def get_inputs():
    return [torch.randn(B, CI, T, S, S)]


def get_init_inputs():
    return []
