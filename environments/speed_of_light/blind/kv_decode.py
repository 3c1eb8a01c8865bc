"""One decode step with a cache of keys and values and grouped queries, in bfloat16."""

import torch
import torch.nn.functional as F
from torch import nn

B = 16
E = 4096
H = 32
G = 8
S = 4095
D = 128


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        kw = {"bias": False, "dtype": torch.bfloat16}
        self.q = nn.Linear(E, H * D, **kw)
        self.k = nn.Linear(E, G * D, **kw)
        self.v = nn.Linear(E, G * D, **kw)
        self.o = nn.Linear(H * D, E, **kw)

    def forward(self, x, k_cache, v_cache):
        q = self.q(x).view(B, 1, H, D).transpose(1, 2)
        k = torch.cat([k_cache, self.k(x).view(B, 1, G, D).transpose(1, 2)], dim=2)
        v = torch.cat([v_cache, self.v(x).view(B, 1, G, D).transpose(1, 2)], dim=2)
        k, v = k.repeat_interleave(H // G, dim=1), v.repeat_interleave(H // G, dim=1)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).reshape(B, 1, H * D))


def get_inputs():
    return [
        torch.randn(B, 1, E, dtype=torch.bfloat16),
        *torch.randn(2, B, G, S, D, dtype=torch.bfloat16).unbind(),
    ]


def get_init_inputs():
    return []
