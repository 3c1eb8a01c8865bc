"""Sliding windows of convolutions and poolings, read from an operator's arguments.

Per spatial dimension a window is (length, windows, kernel, stride, padding, dilation), as `extent` counts it.
"""

from math import prod

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.extent import window_pairs, window_touched
from enlist.tools.solar.rules.structure import BORDER
from enlist.tools.solar.work import Call

Window = tuple[int, int, int, int, int, int]


def windows(call: Call, length: tuple[int, ...], count: tuple[int, ...], kernel: list[int],
            stride: list[int]) -> list[Window]:
    """The windows over dimensions of these lengths, of which there are `count`."""
    dimensions = len(length)
    dilation = call.per_dimension("dilation", 1, dimensions)
    padding = call.attribute("padding", 0)
    if isinstance(padding, str):
        pads = [d * (k - 1) // 2 if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
    else:
        pads = call.per_dimension("padding", 0, dimensions)
    return list(zip(length, count, kernel, stride, pads, dilation, strict=True))


def convolution_windows(call: Call, source: Tensor, weight: Tensor, out: Tensor) -> tuple[list[Window], bool]:
    """Windows and whether the convolution is turned (transposed: windows over the output). Zeros that a pad operator
    put around the input count as padding too."""
    count = len(weight.shape) - 2
    turned = bool("transpose" in call.node.op or call.attribute("transposed", False))
    inner, outer = source.shape[-count:], out.shape[-count:]
    length, number = (outer, inner) if turned else (inner, outer)
    made = windows(call, length, number, list(weight.shape[2:]), call.per_dimension("stride", 1, count))
    border = call.attribute(BORDER, None)
    if border and not turned:
        made = [(size - before - after, w, k, s, p + before, d) for (size, w, k, s, p, d), (before, after) in zip(
            made, border, strict=True)]
    return made, turned


def pairs(dimensions: list[Window]) -> int:
    """Pairs of window and tap that fall inside."""
    return prod(window_pairs(*d) for d in dimensions)


def touched(dimensions: list[Window]) -> int:
    """Positions that some window reads."""
    return prod(window_touched(*d) for d in dimensions)
