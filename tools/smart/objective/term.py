"""What every global term can do: read its data for some agents, value teams, try replacements, and bound completions.

`members` are the term's data of the agents of B teams, [B, R] or [B, R, S]; `options` are its data of candidates, [n]
or [n, S]. Values are contributions to the utility (penalties are negative) on the grid of `enlist.tools.smart.grid`,
and each is monotone in its data, also after rounding: the best data give the best value to the last bit.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.grid import TERM_LIMIT, TERM_STEP, FloatArray

Data = NDArray[Any]
Relaxed = tuple[float, FloatArray]


def upwards(values: FloatArray) -> FloatArray:
    """`values` on the grid, one to two steps higher: what float64 rounded on the way (below 1e-12) is covered."""
    return (np.ceil(values / TERM_STEP) + 1) * TERM_STEP


def refused(message: str, given: object, allowed: str, fix: str) -> EnlistError:
    """A `bad_input` about a global term."""
    return EnlistError("bad_input", message, given=str(given), allowed=allowed, fix=fix)


def check_column(name: str, data: Data, roles: int, agents: int, low: float, high: float, width: int = 0) -> None:
    """`bad_input` unless `data` is [agents] or [roles, agents], with a last axis of `width` where that is not 0, of
    numbers in [low, high]."""
    last = (width,) if width else ()
    if np.shape(data) not in ((agents, *last), (roles, agents, *last)):
        raise refused(f"{name} has a wrong shape", np.shape(data), f"{(agents, *last)} or {(roles, agents, *last)}",
                      "give one value for each card, or one for each role and card")
    if not np.all((np.asarray(data) >= low) & (np.asarray(data) <= high)):
        raise refused(f"{name} holds a value out of range", "NaN or a number out of range", f"[{low:g}, {high:g}]",
                      "correct the cards, or change the unit")


def check_weight(name: str, weight: float, most: float = TERM_LIMIT) -> None:
    """`bad_input` unless 0 <= weight <= most."""
    if not 0 <= weight <= most:
        raise refused(f"{name} is out of range", weight, f"a number in [0, {most:g}]", "correct the weight")


def at(data: Data, depth: int, role: int, rows: NDArray[np.intp] | slice) -> Data:
    """The values of `rows` in `role`; `data` of `depth` dimensions is the same for every role."""
    return np.asarray(data)[rows] if np.ndim(data) == depth else np.asarray(data)[role][rows]


class Term(ABC):
    """One global term; see the module for what the arrays mean."""

    name: ClassVar[str]

    @abstractmethod
    def check(self, roles: int, agents: int) -> None:
        """`bad_input` where the data do not fit a problem of this size."""

    @abstractmethod
    def columns(self, role: int, rows: NDArray[np.intp] | slice) -> Data:
        """The term's data of `rows` in `role`, on their grid."""

    @property
    @abstractmethod
    def absent(self) -> Data:
        """The data of a role that nobody fills: it changes nothing."""

    @abstractmethod
    def value(self, members: Data) -> FloatArray:
        """[B]: the contribution to the utility of each of B teams."""

    @abstractmethod
    def replace(self, members: Data, role: int, options: Data) -> FloatArray:
        """[B, n]: the contribution of each team with each option in `role`; the same bytes as `value` would give."""

    @abstractmethod
    def ideal(self, options: Data) -> Data:
        """Data at least as good as any of the options."""

    @abstractmethod
    def relax(self, members: Data, open_roles: tuple[int, ...], options: Data, real: NDArray[np.bool_]) -> Relaxed:
        """A bound of every completion as a sum over roles: `constant` and `share`, [R, K] (0 where a role is filled).

        No completion of `members` [R, ...] by candidates `options` [R, K, ...] (where `real`) of the open roles has a
        value above the constant plus its members' shares.
        """
