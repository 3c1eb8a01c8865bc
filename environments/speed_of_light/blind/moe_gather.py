"""Mixture of experts at decoding, in float16: each token gathers the weights of its K experts."""

import torch
import torch.nn.functional as F
from torch import nn

T = 16
D = 2048
E = 64
K = 6
U = 1408


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(D, E, bias=False, dtype=torch.float16)
        self.up = nn.Parameter(torch.randn(E, U, D, dtype=torch.float16) * 0.02)
        self.down = nn.Parameter(torch.randn(E, D, U, dtype=torch.float16) * 0.02)

    def forward(self, x):
        gate, sel = self.router(x).softmax(dim=-1).topk(K, dim=-1)
        h = F.silu(torch.einsum("tkfd,td->tkf", self.up[sel], x))
        return torch.einsum("tkdf,tkf,tk->td", self.down[sel], h, gate)


def get_inputs():
    return [torch.randn(T, D, dtype=torch.float16)]


def get_init_inputs():
    return []
