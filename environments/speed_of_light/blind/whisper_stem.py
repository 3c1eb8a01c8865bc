"""Two 1d convolutions over a spectrogram, the second with stride 2 (Whisper's stem)."""

import torch
import torch.nn.functional as F
from torch import nn

B = 8
C = 80
D = 512
T = 3000


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(C, D, 3, padding=1)
        self.conv2 = nn.Conv1d(D, D, 3, stride=2, padding=1)

    def forward(self, x):
        return F.gelu(self.conv2(F.gelu(self.conv1(x))))


def get_inputs():
    return [torch.randn(B, C, T)]


def get_init_inputs():
    return []
