"""Token and position embeddings."""

import torch
from torch import nn

B = 32
L = 512
V = 50257
P = 1024
D = 768


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.pos = nn.Embedding(P, D)

    def forward(self, idx):
        return self.tok(idx) + self.pos(torch.arange(L, device=idx.device))


def get_inputs():
    return [torch.randint(0, V, (B, L))]


def get_init_inputs():
    return []
