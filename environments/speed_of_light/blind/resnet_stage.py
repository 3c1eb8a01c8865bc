"""Two basic blocks; the first halves the map and doubles the channels."""

import torch
import torch.nn.functional as F
from torch import nn

B = 32
C = 64
S = 56


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(C, 2 * C, 3, stride=2, padding=1, bias=False)
        self.conv2 = nn.Conv2d(2 * C, 2 * C, 3, padding=1, bias=False)
        self.conv3 = nn.Conv2d(2 * C, 2 * C, 3, padding=1, bias=False)
        self.conv4 = nn.Conv2d(2 * C, 2 * C, 3, padding=1, bias=False)
        self.short = nn.Conv2d(C, 2 * C, 1, stride=2, bias=False)
        self.bn = nn.ModuleList(nn.BatchNorm2d(2 * C) for _ in range(5))

    def forward(self, x):
        y = self.bn[1](self.conv2(F.relu(self.bn[0](self.conv1(x)))))
        x = F.relu(y + self.bn[2](self.short(x)))
        y = self.bn[4](self.conv4(F.relu(self.bn[3](self.conv3(x)))))
        return F.relu(y + x)


def get_inputs():
    return [torch.randn(B, C, S, S)]


def get_init_inputs():
    return []
