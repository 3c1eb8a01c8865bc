"""Operators as a person names them."""

_SPELLED = {"native_layer_norm": "layer_norm", "native_group_norm": "group_norm", "fused_rms_norm": "rms_norm",
            "to_copy": "cast", "constant_pad_nd": "pad", "linalg_vector_norm": "norm", "unsafe_index": "index"}


def spelled(op: str) -> str:
    """An operator as a person names it: aten's internal variants go by the name of what they compute."""
    plain = op.removeprefix("_")
    return _SPELLED.get(plain, "batch_norm" if plain.startswith("native_batch_norm") else plain)
