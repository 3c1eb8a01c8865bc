"""Grouped-query causal attention in bfloat16, keys and values repeated for the heads."""

import torch
import torch.nn.functional as F
from torch import nn

B = 2
H = 32
G = 8
L = 4096
D = 128


class Model(nn.Module):
    def forward(self, q, k, v):
        k = k.repeat_interleave(H // G, dim=1)
        v = v.repeat_interleave(H // G, dim=1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [
        torch.randn(B, H, L, D, dtype=torch.bfloat16),
        *torch.randn(2, B, G, L, D, dtype=torch.bfloat16).unbind(),
    ]


def get_init_inputs():
    return []
