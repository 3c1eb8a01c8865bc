"""One LSTM layer from a given state, in float16."""

import torch
from torch import nn

B = 64
T = 256
D = 512
H = 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(D, H, batch_first=True, dtype=torch.float16)

    def forward(self, x, h, c):
        y, (_, c) = self.rnn(x, (h, c))
        return y, c


def get_inputs():
    return [torch.randn(B, T, D, dtype=torch.float16), *torch.randn(2, 1, B, H, dtype=torch.float16).unbind()]


def get_init_inputs():
    return []
