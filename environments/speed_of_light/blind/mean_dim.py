"""Mean over the middle dimension."""

import torch
from torch import nn

B = 128
L = 4096
D = 256


class Model(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


def get_inputs():
    return [torch.randn(B, L, D)]


def get_init_inputs():
    return []
