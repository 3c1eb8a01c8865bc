"""Which roof serves another: where work goes whose own unit a device lacks, or has only slowly.

Work in one number format may run on any unit whose format holds all of its operands exactly: int8 and fp8 products on
fp16 units, tf32 products on fp32 ones. A lower bound may take no unit as used that is slower than another that could
serve, so the fastest of them is the roof. Formats: sign, exponent and significand bits of IEEE 754 and the OCP 8-bit
and microscaling formats; `int8` covers uint8, `fp8` both E4M3 and E5M2, `fp6` both E2M3 and E3M2, `fp4` is E2M1.
"""

DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp6", "fp4", "int8", "int4")
SPECIAL = "special"
ROOFS = (*(f"{unit}.{dtype}" for unit in ("tensor", "vector") for dtype in DTYPES), SPECIAL)

_HOLDERS: dict[str, tuple[str, ...]] = {
    "fp64": (),
    "fp32": ("fp64",),
    "tf32": ("fp32", "fp64"),
    "fp16": ("tf32", "fp32", "fp64"),
    "bf16": ("tf32", "fp32", "fp64"),
    "fp8": ("fp16", "bf16", "tf32", "fp32", "fp64"),  # E5M2 has a range that bf16 and fp16 both cover
    "fp6": ("fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64"),  # E2M3, scaled, is an integer below 64
    "fp4": ("fp6", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64"),
    "int8": ("fp16", "bf16", "tf32", "fp32", "fp64"),
    "int4": ("int8", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64"),
}


def candidates(roof: str) -> tuple[str, ...]:
    """The roofs that may serve `roof`, itself first: the same unit in formats that hold its operands, and for matrix
    work the vector units too."""
    if roof == SPECIAL:
        return (SPECIAL,)
    unit, _, dtype = roof.partition(".")
    formats = (dtype, *_HOLDERS[dtype])
    own = tuple(f"{unit}.{f}" for f in formats)
    return own if unit == "vector" else (*own, *(f"vector.{f}" for f in formats))


def last_resort(roof: str) -> tuple[str, ...]:
    """Roofs for what no unit of a device does by itself: emulated, it takes at least one operation there."""
    return ("vector.fp32", "vector.fp64") if roof == SPECIAL else ("vector.fp32", "vector.fp16", "vector.bf16")
