"""Exact arithmetic: every term of a team's utility lies on a grid of 2**-30.

Floating-point sums depend on their order, hence on the BLAS, the thread count and the SIMD width of a machine. Terms
that are multiples of 2**-30 below 1024 in size add up without any rounding in float64 (52 bits hold 4,096 of them), so
equal inputs give equal bytes everywhere, ties are true ties and an admissible bound stays admissible to the last bit.
Synergy vectors lie on 2**-20 within [-4, 4] with at most 256 dimensions: float32 holds each entry, and float64 holds
each dot product, without rounding. The price is that utilities differ from unrounded ones by less than 1e-9 a term
(and synergies by about 1e-6).
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TERM_STEP = 2.0**-30
TERM_LIMIT = 1024.0
VECTOR_STEP = 2.0**-20
VECTOR_LIMIT = 4.0
VECTOR_DIMENSIONS = 256


def term_grid(values: NDArray[np.floating]) -> FloatArray:
    """`values` rounded to multiples of 2**-30 (half to even), as float64; -inf stays."""
    return np.rint(np.asarray(values, dtype=np.float64) / TERM_STEP) * TERM_STEP


def half_up(values: FloatArray) -> FloatArray:
    """Half of each value on the grid, rounded upwards; -inf stays."""
    return np.ceil(values / (2 * TERM_STEP)) * TERM_STEP


def vector_grid(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """`vectors` rounded to multiples of 2**-20, as float32 (exact within [-4, 4])."""
    step = np.float32(VECTOR_STEP)
    return np.rint(np.asarray(vectors, dtype=np.float32) / step) * step
