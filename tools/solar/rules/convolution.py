"""Convolutions: two FLOP for each pair of a window and a tap that falls inside, per pair of channels of a group.

Padding is not multiplied. A turned (transposed) convolution has its windows over the output. As input/output bounds see
them, a convolution is an implicit matrix product whose inner dimension is shortened, because neighbouring windows share
their input: with t taps and stride s at most sqrt(t * s) of them are as good as new (Demmel, Dinh, arXiv 1802.06905).
"""

from math import isqrt, prod

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.extent import window_pairs
from enlist.tools.solar.rules.windows import Window, convolution_windows, pairs, touched
from enlist.tools.solar.work import Call, Nest, Rule, Work

CONVOLUTIONS = (*(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)), "convolution")
"""Convolutions by the names that capture leaves."""

_OTHER_NAMES = ("_convolution", "cudnn_convolution", "cudnn_convolution_transpose", "cudnn_convolution_relu",
                "mkldnn_convolution", "miopen_convolution", "miopen_depthwise_convolution", "_conv_depthwise2d",
                "conv_depthwise3d", "slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose2d",
                "slow_conv_transpose3d", "slow_conv3d_forward", "_slow_conv2d_forward", "thnn_conv2d",
                "convolution_overrideable")


def convolution_flop(call: Call, source: Tensor, weight: Tensor, out: Tensor) -> int:
    """FLOP of a convolution without what falls on padding."""
    dimensions, _ = convolution_windows(call, source, weight, out)
    return 2 * _batch(source, weight) * weight.shape[0] * weight.shape[1] * pairs(dimensions)


def _batch(source: Tensor, weight: Tensor) -> int:
    if len(source.shape) != len(weight.shape):
        return 1
    return source.shape[0] if source.strides[0] or not source.shape[0] else 1  # an expanded batch is one image


def _nest(call: Call, weight: Tensor, dimensions: list[Window], turned: bool, batch: int) -> Nest:
    groups = max(1, int(call.attribute("groups", 1)))
    channels, places = weight.shape[0] // groups, batch * prod(d[1] for d in dimensions)
    taps = prod(d[2] for d in dimensions)
    new = min(taps, isqrt(taps * prod(min(d[2], d[3]) for d in dimensions)))
    if turned:
        return Nest(groups, places, weight.shape[1] * new, channels)
    return Nest(groups, places, channels, weight.shape[1] * new)


def _convolution(call: Call) -> Work | None:
    source, weight = call.tensor("input", "self"), call.tensor("weight")
    if source is None or weight is None or len(weight.shape) < 3:
        return None
    out = call.out()
    dimensions, turned = convolution_windows(call, source, weight, out)
    batch, flop = _batch(source, weight), convolution_flop(call, source, weight, out)
    inside, all_taps = pairs(dimensions), prod(weight.shape[2:]) * prod(d[1] for d in dimensions)
    less = "padding is not multiplied" if inside < all_taps else ""
    used = prod(sum(window_pairs(d[0], d[1], 1, d[3], d[4] - tap * d[5], 1) > 0 for tap in range(d[2]))
                for d in dimensions)  # taps that fall inside for some window
    reads = {weight.id: weight.shape[0] * weight.shape[1] * used}
    if not turned:
        inner = prod(source.shape[-len(dimensions):])
        reads[source.id] = source.distinct * touched(dimensions) // max(1, inner)
        if touched(dimensions) < prod(d[0] for d in dimensions):
            less = less or "no window touches a part of the input"
    return Work("convolution", matrix_flop=flop, less=less, reads=reads,
                nests=(_nest(call, weight, dimensions, turned, batch),))


def _convolution_backward(call: Call) -> Work | None:
    """The gradient by the input and the one by the weight are each as much as the forward pass."""
    source, weight, grad = call.tensor("input"), call.tensor("weight"), call.tensor("grad_output")
    mask = call.attribute("output_mask", [True, True, True])
    if source is None or weight is None or grad is None:
        return None
    made = [call.graph.by_id[t].shape for t in call.node.outputs]
    times = sum(bool(wanted) and tensor.shape in made for wanted, tensor in zip(mask, (source, weight), strict=False))
    dimensions, turned = convolution_windows(call, source, weight, grad)
    return Work("convolution", matrix_flop=times * convolution_flop(call, source, weight, grad),
                vector_flop=max(0, grad.elements - grad.shape[1]) if len(mask) > 2 and mask[2] else 0,
                nests=(_nest(call, weight, dimensions, turned, _batch(source, weight)),) * times,
                launches=max(1, times))


RULES: dict[str, Rule] = {**dict.fromkeys((*CONVOLUTIONS, *_OTHER_NAMES), _convolution),
                          "convolution_backward": _convolution_backward}
