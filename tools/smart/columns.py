"""Fits computed from a pool's columns, for pools of a million cards.

    u_r(a) = (bias + features_a . weights_r) * scale_a - penalty_a        (-inf where a may not fill r)

`scale` carries what multiplies (a posterior mean of quality), `penalty` what is taken off (money, seconds, load).
Nothing of size roles x agents is kept in float64: `block` gives all roles' fits of a block of agents at once in
float32, good to `error`, with which a scan finds who can matter; calling the object gives exact fits of those few.
Features and weights lie on a grid of 2^-20, so that float64 holds every dot product without rounding, in whatever
order a BLAS adds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.grid import VECTOR_DIMENSIONS, VECTOR_LIMIT, FloatArray, vector_grid

BLOCK = 1 << 14  # agents whose features (24 of them: 1.5 MB) stay in a core's cache
FLOAT32 = 2.0**-24  # relative rounding error of one operation


@dataclass(frozen=True, eq=False)
class ColumnFits:
    """The formula above over columns: features float32 [N, d] and weights [R, d] within [-4, 4], d <= 256; scale,
    penalty float32 [N]; eligible bool [R, N] or None for everybody. Raises `bad_input` for other shapes and values."""

    features: NDArray[np.float32]
    weights: NDArray[np.float32]
    scale: NDArray[np.float32]
    penalty: NDArray[np.float32]
    bias: float = 0.0
    eligible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        agents, dimensions = np.shape(self.features)
        roles = len(self.weights)
        wanted = {"weights": (roles, dimensions), "scale": (agents,), "penalty": (agents,), "eligible": (roles, agents)}
        for name, shape in wanted.items():
            column = getattr(self, name)
            if column is not None and np.shape(column) != shape:
                raise _refuse(f"the column {name} has a wrong shape", np.shape(column), str(shape))
            if column is not None and name != "eligible" and not np.all(np.isfinite(column)):
                raise _refuse(f"the column {name} holds NaN or infinity", name, "finite numbers")
        if dimensions > VECTOR_DIMENSIONS:
            raise _refuse("too many features", dimensions, f"at most {VECTOR_DIMENSIONS}")
        for name in ("features", "weights"):
            rounded = np.empty(np.shape(getattr(self, name)), dtype=np.float32)
            for start in range(0, len(rounded), BLOCK):
                part = np.asarray(getattr(self, name)[start:start + BLOCK])
                if not np.all(np.abs(part) <= VECTOR_LIMIT):
                    raise _refuse(f"the {name} must be finite and small", "NaN or a larger entry",
                                  f"entries in [-{VECTOR_LIMIT:g}, {VECTOR_LIMIT:g}]")
                rounded[start:start + BLOCK] = vector_grid(part)
            object.__setattr__(self, name, rounded)

    def __len__(self) -> int:
        return len(self.scale)

    def __call__(self, role: int, index: Any) -> FloatArray:
        """Exact fits of the agents `index` (a slice or row numbers) to a role, float64."""
        dot = self.features[index].astype(np.float64) @ self.weights[role].astype(np.float64)
        fits = (self.bias + dot) * self.scale[index].astype(np.float64) - self.penalty[index].astype(np.float64)
        return fits if self.eligible is None else np.where(self.eligible[role][index], fits, -np.inf)

    def block(self, rows: slice) -> NDArray[np.float32]:
        """[R, n]: fits of a block of agents to every role, each within `error` of the exact one."""
        fits = self.weights @ self.features[rows].T
        fits += np.float32(self.bias)
        fits *= self.scale[rows]
        fits -= self.penalty[rows]
        if self.eligible is not None:
            fits[~self.eligible[:, rows]] = -np.inf
        return fits

    @cached_property
    def error(self) -> float:
        """A bound on |block - exact|: the standard bound of a float32 dot product (Higham, Accuracy and Stability,
        2002, section 3.1), carried through the product with scale and the difference, twice over."""
        dimensions = self.features.shape[1]
        longest = max((float(np.max(np.sum(np.abs(self.features[start:start + BLOCK]), axis=1, dtype=np.float64)))
                       for start in range(0, len(self.features), BLOCK)), default=0.0)
        dot = longest * float(np.max(np.abs(self.weights), initial=0.0))
        size = (abs(self.bias) + dot) * float(np.max(np.abs(self.scale), initial=0.0))
        return 2 * FLOAT32 * ((dimensions + 4) * size + 2 * float(np.max(np.abs(self.penalty), initial=0.0)))


def _refuse(message: str, given: object, allowed: str) -> EnlistError:
    return EnlistError("bad_input", message, given=str(given), allowed=allowed,
                       fix="see enlist.tools.smart.columns for the columns' shapes")
