"""Quantising and back: a scaling, a rounding and the limits of the range per element, a scaling on the way back."""

from enlist.tools.solar.work import Call, Rule, Work

_FLOP = {
    **dict.fromkeys(("quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic"), 3),
    **dict.fromkeys(("dequantize", "int_repr"), 1),
    **dict.fromkeys(("fake_quantize_per_tensor_affine_cachemask", "fake_quantize_per_channel_affine_cachemask",
                     "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "fake_quantize_per_tensor_affine",
                     "fake_quantize_per_channel_affine"), 4),
}


def _quantise(call: Call) -> Work:
    return Work("vector", vector_flop=_FLOP[call.node.op] * call.first().elements)


RULES: dict[str, Rule] = dict.fromkeys(_FLOP, _quantise)
