"""An auxiliary head is computed and dropped."""

import torch
import torch.nn.functional as F
from torch import nn

M = 4096
K = 1024
N = 1024
A = 4096


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Linear(K, N)
        self.aux = nn.Linear(K, A)

    def forward(self, x, target):
        y = F.relu(self.main(x))
        loss = (self.aux(x) - target).pow(2).mean()
        loss = loss * 0.1
        return y


def get_inputs():
    return [torch.randn(M, K), torch.randn(M, A)]


def get_init_inputs():
    return []
