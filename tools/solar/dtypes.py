"""Names of dtypes: torch's own, the short ones that people write, and which can be a model's floating dtype."""

from collections.abc import Mapping

from enlist.tools.runtime.errors import EnlistError

FLOATS = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")
"""Floating dtypes by torch's name, the fastest first."""

_SHORT: Mapping[str, str] = {
    "fp8": "float8_e4m3fn", "float8": "float8_e4m3fn", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "fp16": "float16", "half": "float16", "bf16": "bfloat16", "fp32": "float32", "float": "float32",
    "fp64": "float64", "double": "float64",
}


def dtype_name(text: str) -> str:
    """Torch's name of a floating dtype: "bf16", "BFloat16" and "torch.bfloat16" are "bfloat16".

    Raises `bad_input` on anything else. TF32 is no dtype: it is a rate at which float32 products may run.
    """
    plain = text.strip().lower().removeprefix("torch.")
    name = _SHORT.get(plain, plain)
    if name not in FLOATS:
        raise EnlistError("bad_input", "not a floating dtype", given=repr(text),
                          allowed=f"{', '.join(FLOATS)}, or short: {', '.join(_SHORT)}",
                          fix="leave dtype out to price float32 as PyTorch runs it" if plain == "tf32" else
                          "give one of these names")
    return name
