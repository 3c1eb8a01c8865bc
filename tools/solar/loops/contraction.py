"""Sums of products: the factors, and the least work over all orders of taking them together.

A sum over a variable that only one factor has is taken first (distributivity), and factors are multiplied pairwise in
the order that costs least, as `numpy.einsum_path` does with "optimal". Written order is never charged where another
one is cheaper, so that a lower bound stays one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

from enlist.tools.solar.loops.program import DTYPES, Expr, Op

_MOST_FACTORS = 7


@dataclass(frozen=True)
class Least:
    """FLOP of products with their sums, and of sums of one factor alone (vector work)."""

    matrix: int
    vector: int


def factors(expr: Expr) -> list[Expr]:
    """The factors of a product, through casts and signs; a divisor is one as its reciprocal."""
    if isinstance(expr, Op):
        if expr.name == "*":
            return [f for a in expr.args for f in factors(a)]
        if expr.name == "/":
            return [*factors(expr.args[0]), expr.args[1]]
        if expr.name == "neg" or expr.name in DTYPES:
            inner = factors(expr.args[0])
            return inner if len(inner) > 1 else [expr]
    return [expr]


def spine(expr: Expr) -> list[Op]:
    """The operators that join the factors of a product."""
    if not isinstance(expr, Op) or (expr.name not in ("*", "/", "neg") and expr.name not in DTYPES):
        return []
    inside = expr.args if expr.name == "*" else expr.args[:1]
    return [expr, *(node for a in inside for node in spine(a))]


def least(parts: list[frozenset[str]], out: frozenset[str], sizes: Mapping[str, int]) -> Least | None:
    """The least work of summing the product of `parts` (their variables) to `out`; None for too many factors.

    `sizes` are the numbers of values of independent variables.
    """
    if len(parts) > _MOST_FACTORS:
        return None

    def points(variables: frozenset[str]) -> int:
        return prod(sizes[v] for v in variables)

    def kept(group: frozenset[int]) -> frozenset[str]:
        """The variables of a group's product that are still needed once it is known."""
        mine = frozenset().union(*(parts[i] for i in group))
        others = frozenset().union(out, *(p for i, p in enumerate(parts) if i not in group))
        return mine & others

    best: dict[frozenset[int], Least] = {}
    for i, part in enumerate(parts):
        one = frozenset((i,))
        best[one] = Least(0, points(part) if kept(one) < part else 0)
    for size in range(2, len(parts) + 1):
        for chosen in combinations(range(len(parts)), size):
            group = frozenset(chosen)
            found: Least | None = None
            for split in range(1, size // 2 + 1):
                for side in combinations(chosen, split):
                    left, right = frozenset(side), group - frozenset(side)
                    joint = kept(left) | kept(right)
                    work = points(joint) * (2 if kept(group) < joint else 1)
                    made = Least(best[left].matrix + best[right].matrix + work, best[left].vector + best[right].vector)
                    if found is None or made.matrix + made.vector < found.matrix + found.vector:
                        found = made
            assert found is not None
            best[group] = found
    return best[frozenset(range(len(parts)))]
