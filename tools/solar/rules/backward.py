"""Backward operators: the fewest operations per element of the gradient that they make.

The derivative of a function of one variable is one evaluation at most, and its product with the gradient one FLOP;
where it follows from the saved result (sigmoid, tanh) there is none. Gradients of reductions and of selections are put
where values came from: data movement. Convolutions and attention have their backward rules beside them.
"""

from collections.abc import Mapping

from enlist.tools.solar.rules.elements import outputs
from enlist.tools.solar.work import Call, Rule, Work

EACH: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("threshold_backward", "hardtanh_backward", "leaky_relu_backward", "native_dropout_backward",
                     "hardshrink_backward", "softshrink_backward", "_prelu_kernel_backward", "mse_loss_backward",
                     "l1_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward", "hardsigmoid_backward",
                     "masked_fill_backward", "rrelu_with_noise_backward", "elu_backward", "multi_margin_loss_backward",
                     "multilabel_margin_loss_backward", "fake_quantize_per_tensor_affine_cachemask_backward"), (1, 0)),
    **dict.fromkeys(("sigmoid_backward", "tanh_backward", "hardswish_backward"), (3, 0)),
    **dict.fromkeys(("softplus_backward", "log_sigmoid_backward", "logit_backward", "binary_cross_entropy_backward",
                     "soft_margin_loss_backward"), (2, 1)),
    **dict.fromkeys(("gelu_backward", "silu_backward", "mish_backward", "glu_backward"), (5, 1)),
}
"""FLOP and evaluations per element of the gradient that is made."""

NORMS: Mapping[str, tuple[int, int]] = {
    "_softmax_backward_data": (4, 0), "_log_softmax_backward_data": (3, 1), "_masked_softmax_backward": (4, 0),
    **dict.fromkeys(("native_layer_norm_backward", "native_batch_norm_backward", "native_group_norm_backward",
                     "batch_norm_backward", "cudnn_batch_norm_backward", "miopen_batch_norm_backward"), (8, 0)),
    "_fused_rms_norm_backward": (6, 0), "_weight_norm_interface_backward": (5, 0),
}
"""Per element of the gradient that comes in: softmax y * (g - sum(g * y)); norms two sums over each group (3) and the
combination of gradient, normalised input and the two sums (5)."""

_MOVED = (
    "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "avg_pool2d_backward",
    "avg_pool3d_backward", "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
    "adaptive_avg_pool3d_backward", "adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward",
    "fractional_max_pool2d_backward", "fractional_max_pool3d_backward", "nll_loss_backward", "nll_loss2d_backward",
    "slice_backward", "select_backward", "diagonal_backward", "unfold_backward", "index_backward",
    "value_selecting_reduction_backward", "_fused_dropout_backward", "_embedding_bag_dense_backward",
    "_embedding_bag_backward", "_cdist_backward", "grid_sampler_2d_backward", "grid_sampler_3d_backward",
    *(f"{kind}_pad{n}d_backward" for kind in ("reflection", "replication") for n in (1, 2, 3)),
    *(f"upsample_{kind}_backward" for kind in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d",
                                               "trilinear3d", "bicubic2d")),
    *(f"_upsample_nearest_exact{n}d_backward" for n in (1, 2, 3)))


def _each(call: Call) -> Work:
    flop, special = EACH[call.node.op]
    count = call.out().elements
    return Work("vector", vector_flop=flop * count, special=special * count)


def _norm(call: Call) -> Work:
    flop, special = NORMS[call.node.op]
    count = call.first().elements
    return Work("vector", vector_flop=flop * count, special=special * count, launches=1 if "softmax" in call.node.op
                else min(3, len(outputs(call))))


def _moved(call: Call) -> Work:
    return Work("move")


def _embedding(call: Call) -> Work:
    """Gradients of a row that occurs more than once are added: at most one addition per element that comes in, and none
    where all ids differ."""
    return Work("move", launches=2)


def _linear(call: Call) -> Work | None:
    """Two products: by the weight, and by the input."""
    source, weight = call.tensor("self", "input"), call.tensor("weight")
    if source is None or weight is None:
        return None
    made = [t.shape for t in outputs(call)]
    times = sum(t.shape in made for t in (source, weight))
    return Work("matmul", matrix_flop=2 * times * source.elements * weight.shape[0], launches=max(1, times))


RULES: dict[str, Rule] = {
    **dict.fromkeys(EACH, _each), **dict.fromkeys(NORMS, _norm), **dict.fromkeys(_MOVED, _moved),
    "embedding_dense_backward": _embedding, "linear_backward": _linear}
