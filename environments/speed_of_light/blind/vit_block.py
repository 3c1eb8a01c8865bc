"""A pre-norm transformer block without mask, in bfloat16."""

import torch
import torch.nn.functional as F
from torch import nn

B = 32
L = 197
D = 768
H = 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        kw = {"dtype": torch.bfloat16}
        self.ln1 = nn.LayerNorm(D, **kw)
        self.qkv = nn.Linear(D, 3 * D, bias=False, **kw)
        self.proj = nn.Linear(D, D, **kw)
        self.ln2 = nn.LayerNorm(D, **kw)
        self.fc1 = nn.Linear(D, 4 * D, **kw)
        self.fc2 = nn.Linear(4 * D, D, **kw)

    def forward(self, x):
        q, k, v = self.qkv(self.ln1(x)).view(B, L, 3, H, D // H).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).reshape(B, L, D))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


def get_inputs():
    return [torch.randn(B, L, D, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
