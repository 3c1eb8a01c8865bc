"""The same weight is applied twice."""

import torch
import torch.nn.functional as F
from torch import nn

M = 256
D = 4096


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(D, D)

    def forward(self, x):
        return F.relu(self.fc(F.relu(self.fc(x))))


def get_inputs():
    return [torch.randn(M, D)]


def get_init_inputs():
    return []
