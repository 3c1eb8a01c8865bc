"""Multiply-adds of products whose operands have structure, and of whose result only a part is needed.

For each inner index k the rows of the left operand that are not zero there, and the columns of the right one, are
intervals; their product, cut by the triangle that is needed, is counted in closed form.
"""

from fractions import Fraction


def share(pattern: str) -> Fraction | None:
    """The share of elements that a pattern "band:kept/all" leaves."""
    return Fraction(pattern.removeprefix("band:")) if pattern.startswith("band:") else None


def pairs(rows: int, inner: int, columns: int, left: str = "dense", right: str = "dense", needed: str = "") -> int:
    """Multiply-adds of a rows x inner by inner x columns product: the triples (i, k, j) with left[i, k] and right[k, j]
    not known to be zero, and (i, j) in the triangle that is needed. For two upper triangular N x N operands it is
    N(N+1)(N+2)/6. A band is counted as its share of the elements, which is exact beside a dense operand."""
    if "zero" in (left, right):
        return 0
    banded = [part for pattern in (left, needed) if (part := share(pattern)) is not None]
    if banded:
        return int(min(banded) * rows * inner * columns)
    if needed == "diagonal":
        return min(rows, columns) * inner if not {left, right} & {"upper", "lower", "diagonal"} else min(
            min(rows, columns) * inner, pairs(rows, inner, columns, left, right))
    if not {left, right, needed} & {"upper", "lower", "diagonal"}:
        return rows * inner * columns
    if not {left, right} & {"upper", "lower", "diagonal"}:
        return inner * _inside((0, rows), (0, columns), needed)
    return sum(_inside(_rows_at(k, rows, left), _columns_at(k, columns, right), needed) for k in range(inner))


def _rows_at(k: int, rows: int, structure: str) -> tuple[int, int]:
    """Rows of the left operand that are not zero in column k."""
    return {"upper": (0, min(k + 1, rows)), "lower": (min(k, rows), rows),
            "diagonal": (min(k, rows), min(k + 1, rows))}.get(structure, (0, rows))


def _columns_at(k: int, columns: int, structure: str) -> tuple[int, int]:
    """Columns of the right operand that are not zero in row k."""
    return {"upper": (min(k, columns), columns), "lower": (0, min(k + 1, columns)),
            "diagonal": (min(k, columns), min(k + 1, columns))}.get(structure, (0, columns))


def _inside(rows: tuple[int, int], columns: tuple[int, int], triangle: str) -> int:
    """Places of a block of rows and columns that lie in a triangle with the diagonal; all without one."""
    (top, bottom), (left, right) = rows, columns
    if triangle == "upper":  # the lower triangle of the turned block
        (top, bottom), (left, right) = columns, rows
    elif triangle != "lower":
        return (bottom - top) * (right - left)
    return _below(bottom, right) - _below(top, right) - _below(bottom, left) + _below(top, left)


def _below(rows: int, columns: int) -> int:
    """Places (i, j) with j <= i < rows and j < columns."""
    square = min(rows, columns)
    return square * (square + 1) // 2 + max(0, rows - columns) * columns
