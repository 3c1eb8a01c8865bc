"""Causal attention over the last W positions, in bfloat16."""

import torch
import torch.nn.functional as F
from torch import nn

B = 1
H = 32
L = 8192
W = 1024
D = 128


class Model(nn.Module):
    def forward(self, q, k, v):
        i = torch.arange(L, device=q.device)
        gap = i[:, None] - i[None, :]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=(gap >= 0) & (gap < W))


def get_inputs():
    return [*(torch.randn(B, H, L, D, dtype=torch.bfloat16) for _ in range(3))]


def get_init_inputs():
    return []
