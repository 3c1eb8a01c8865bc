"""A layer that forward never calls, and a scale that it does."""

import torch
import torch.nn.functional as F
from torch import nn

M = 8192
D = 2048


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(D))
        self.old = nn.Linear(D, D)

    def forward(self, x):
        return F.softplus(x) * self.scale


def get_inputs():
    return [torch.randn(M, D)]


def get_init_inputs():
    return []
