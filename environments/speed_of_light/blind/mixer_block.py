"""A block of MLP-Mixer in float16."""

import torch
from torch import nn

B = 32
S = 196
C = 768
DS = 384
DC = 3072


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        kw = {"dtype": torch.float16}
        self.ln1 = nn.LayerNorm(C, **kw)
        self.tok = nn.Sequential(nn.Linear(S, DS, **kw), nn.GELU(), nn.Linear(DS, S, **kw))
        self.ln2 = nn.LayerNorm(C, **kw)
        self.chan = nn.Sequential(nn.Linear(C, DC, **kw), nn.GELU(), nn.Linear(DC, C, **kw))

    def forward(self, x):
        x = x + self.tok(self.ln1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.chan(self.ln2(x))


def get_inputs():
    return [torch.randn(B, S, C, dtype=torch.float16)]


def get_init_inputs():
    return []
