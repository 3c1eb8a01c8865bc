"""Causal attention with fewer queries than keys: the mask is aligned top left."""

import torch
import torch.nn.functional as F
from torch import nn

B = 4
H = 16
L = 512
S = 2048
D = 64


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [torch.randn(B, H, L, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D)]


def get_init_inputs():
    return []
