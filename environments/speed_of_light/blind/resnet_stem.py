"""7x7 convolution with stride 2, batch norm, ReLU, max pooling."""

import torch
import torch.nn.functional as F
from torch import nn

B = 32
C = 64
S = 224


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, C, 7, stride=2, padding=3, bias=False)
        self.bn = nn.BatchNorm2d(C)

    def forward(self, x):
        return F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, stride=2, padding=1)


def get_inputs():
    return [torch.randn(B, 3, S, S)]


def get_init_inputs():
    return []
