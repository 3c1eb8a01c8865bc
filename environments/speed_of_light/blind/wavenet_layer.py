"""One gated layer of WaveNet: causal dilated convolution, residual and skip."""

import torch
import torch.nn.functional as F
from torch import nn

B = 4
C = 128
S = 256
T = 16000
R = 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Conv1d(C, 2 * C, 2, dilation=R)
        self.res = nn.Conv1d(C, C, 1)
        self.skip = nn.Conv1d(C, S, 1)

    def forward(self, x):
        a, b = self.gate(F.pad(x, (R, 0))).chunk(2, dim=1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return x + self.res(h), self.skip(h)


def get_inputs():
    return [torch.randn(B, C, T)]


def get_init_inputs():
    return []
