"""Logits for every position, of which the last is kept, in bfloat16."""

import torch
from torch import nn

B = 8
L = 1024
D = 2048
V = 32000


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D, dtype=torch.bfloat16)
        self.head = nn.Linear(D, V, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        return self.head(self.norm(x))[:, -1]


def get_inputs():
    return [torch.randn(B, L, D, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
