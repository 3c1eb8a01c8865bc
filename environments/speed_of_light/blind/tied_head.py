"""Embedding, RMS norm and a head that shares the table, in bfloat16, one sequence."""

import torch
from torch import nn

L = 1024
V = 32000
D = 1024


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D, dtype=torch.bfloat16)
        self.pos = nn.Parameter(torch.randn(L, D, dtype=torch.bfloat16))
        self.norm = nn.Parameter(torch.ones(D, dtype=torch.bfloat16))
        self.head = nn.Linear(D, V, bias=False, dtype=torch.bfloat16)
        self.head.weight = self.tok.weight

    def forward(self, idx):
        h = self.tok(idx) + self.pos
        h = h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * self.norm
        return self.head(h)


def get_inputs():
    return [torch.randint(0, V, (L,))]


def get_init_inputs():
    return []
