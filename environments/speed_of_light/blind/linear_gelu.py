"""A wide float32 linear layer and GELU."""

import torch
import torch.nn.functional as F
from torch import nn

M = 8192
K = 1024
N = 4096


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(K, N)

    def forward(self, x):
        return F.gelu(self.fc(x))


def get_inputs():
    return [torch.rand(M, K)]


def get_init_inputs():
    return []
