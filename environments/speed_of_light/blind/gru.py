"""One GRU layer from the zero state, in bfloat16."""

import torch
from torch import nn

B = 32
T = 128
D = 256
H = 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(D, H, batch_first=True, dtype=torch.bfloat16)

    def forward(self, x):
        return self.rnn(x)[0]


def get_inputs():
    return [torch.randn(B, T, D, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
