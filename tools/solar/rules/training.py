"""Rules of what only training has: backward operators, dropout, attention's backward pass, optimizers.

A backward operator needs at least one operation per element of the gradient that it makes; matrix work is counted by
the products that it stands for (a convolution has two, attention four, if the weights of the forward pass are kept).
"""

from math import prod

from enlist.tools.solar.rules.aten import convolution_flop
from enlist.tools.solar.rules.extent import causal_pairs
from enlist.tools.solar.work import Call, Rule, Work

_POINTWISE = {
    **dict.fromkeys(("threshold_backward", "hardtanh_backward", "leaky_relu_backward", "native_dropout_backward",
                     "hardshrink_backward", "softshrink_backward", "_prelu_kernel_backward", "mse_loss_backward",
                     "l1_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward", "hardsigmoid_backward",
                     "masked_fill_backward"), 1),
    **dict.fromkeys(("sigmoid_backward", "tanh_backward", "elu_backward", "softplus_backward", "hardswish_backward",
                     "log_sigmoid_backward"), 3),
    **dict.fromkeys(("gelu_backward", "silu_backward", "mish_backward", "glu_backward"), 5),
}
"""FLOP per element of the gradient."""

_NORMS = {"_softmax_backward_data": 4, "_log_softmax_backward_data": 3, "native_layer_norm_backward": 8,
          "native_batch_norm_backward": 8, "native_group_norm_backward": 8, "_fused_rms_norm_backward": 6,
          "batch_norm_backward": 8, "cudnn_batch_norm_backward": 8}

_SPREAD = ("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "avg_pool2d_backward",
           "avg_pool3d_backward", "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
           "adaptive_max_pool2d_backward", "nll_loss_backward", "nll_loss2d_backward", "slice_backward",
           "select_backward", "upsample_nearest2d_backward", "upsample_bilinear2d_backward", "embedding_dense_backward",
           "diagonal_backward", "unfold_backward", "index_backward", "_index_put_impl")

ADAMW_FLOP, ADAMW_SPECIAL = 12, 2
"""Per parameter: decay (1), two moving averages (5), bias corrections folded into constants (2), root plus epsilon (1),
the quotient's scaling and subtraction (3); one root and one division."""


def _pointwise(call: Call) -> Work:
    return Work("vector", vector_flop=_POINTWISE[call.node.op] * call.out().elements)


def _norm(call: Call) -> Work:
    return Work("vector", vector_flop=_NORMS[call.node.op] * call.first().elements)


def _spread(call: Call) -> Work:
    """Gradients are put where values came from: data movement, the output written whole."""
    return Work("move")


def _convolution_backward(call: Call) -> Work:
    """The gradient by the input and the one by the weight are each as much as the forward pass (`output_mask`)."""
    source, weight, grad = call.tensor("input"), call.tensor("weight"), call.tensor("grad_output")
    mask = call.attribute("output_mask", [True, True, True])
    if source is None or weight is None or grad is None:
        return Work("convolution")
    times = int(bool(mask[0])) + int(bool(mask[1]))
    return Work("convolution", matrix_flop=times * convolution_flop(call, source, weight, grad))


def _attention_backward(call: Call) -> Work:
    """Four products: by the values, by the weights, by queries and keys (Dao, FlashAttention-2, section 2.3)."""
    query, key, value = call.tensor("query"), call.tensor("key"), call.tensor("value")
    if query is None or key is None or value is None:
        return Work("attention")
    queries, keys = query.shape[-2], key.shape[-2]
    causal = bool(call.attribute("is_causal", False))
    pairs = prod(query.shape[:-2]) * (causal_pairs(queries, keys) if causal else queries * keys)
    return Work("attention", matrix_flop=4 * pairs * (query.shape[-1] + value.shape[-1]), vector_flop=3 * pairs,
                special=pairs, less="causal half" if causal else "")


def _dropout(call: Call) -> Work:
    return Work("vector", vector_flop=call.first().elements)


def _adamw(call: Call) -> Work:
    return Work("vector", vector_flop=ADAMW_FLOP * call.first().elements, special=ADAMW_SPECIAL * call.first().elements)


def _sgd(call: Call) -> Work:
    return Work("vector", vector_flop=(4 if len(call.node.inputs) > 2 else 2) * call.first().elements)


RULES: dict[str, Rule] = {
    **dict.fromkeys(_POINTWISE, _pointwise), **dict.fromkeys(_NORMS, _norm), **dict.fromkeys(_SPREAD, _spread),
    "convolution_backward": _convolution_backward, "scaled_dot_product_attention_backward": _attention_backward,
    "native_dropout": _dropout, "adamw_step": _adamw, "adam_step": _adamw, "sgd_step": _sgd}
