"""Dense factorisations and solvers: the leading terms of the standard algorithms (Golub, Van Loan, Matrix
Computations, 4th ed.), and of eigenvalues and singular values only the reduction to tridiagonal or bidiagonal form,
which comes first.
"""

from collections.abc import Callable, Mapping

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.work import Call, Rule, Work

_SQUARE: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("linalg_cholesky_ex", "cholesky"), (1, 3)),
    **dict.fromkeys(("linalg_lu_factor_ex", "linalg_lu", "_linalg_det", "_linalg_slogdet", "linalg_ldl_factor_ex"),
                    (2, 3)),
    **dict.fromkeys(("linalg_inv_ex", "linalg_matrix_exp", "cholesky_inverse"), (1, 1)),
    **dict.fromkeys(("_linalg_eigh", "linalg_eigvalsh"), (4, 3)), "linalg_eig": (10, 3), "linalg_eigvals": (10, 3),
}
"""FLOP as a fraction of n^3 for an n x n matrix; an inverse and an exponential at least as much as one half product,
Hessenberg form 10/3."""


def _matrices(tensor: Tensor) -> int:
    return tensor.elements // max(1, tensor.shape[-2] * tensor.shape[-1])


def _square(call: Call) -> Work:
    source, (top, bottom) = call.first(), _SQUARE[call.node.op]
    return Work("matmul", matrix_flop=_matrices(source) * top * source.shape[-1] ** 3 // bottom)


def _solve(call: Call) -> Work | None:
    """A factorisation (2/3 n^3) and two triangular solutions (2 n^2 per column)."""
    matrix, right = call.tensor("A"), call.tensor("B")
    if matrix is None or right is None:
        return None
    n = matrix.shape[-1]
    return Work("matmul", matrix_flop=_matrices(matrix) * 2 * n**3 // 3 + 2 * n * right.elements)


def _triangular(call: Call) -> Work | None:
    """n^2 FLOP per column; half of the matrix is read."""
    matrix, right = call.tensor("A", "self"), call.tensor("B", "b")
    if call.node.op == "triangular_solve":
        matrix, right = right if call.tensor("A") is None else call.tensor("A"), call.tensor("self")
    if matrix is None or right is None:
        return None
    n = matrix.shape[-1]
    return Work("matmul", matrix_flop=n * right.elements, reads={matrix.id: matrix.distinct * (n + 1) // max(1, 2 * n)},
                less="triangular operand")


def _tall(formula: Callable[[int, int], int]) -> Rule:
    def rule(call: Call) -> Work:
        source = call.first()
        tall, thin = max(source.shape[-2:]), min(source.shape[-2:])
        return Work("matmul", matrix_flop=_matrices(source) * formula(tall, thin))
    return rule


def _cross(call: Call) -> Work:
    """Two products and a difference per component."""
    return Work("vector", vector_flop=3 * call.out().elements)


RULES: dict[str, Rule] = {
    **dict.fromkeys(_SQUARE, _square), "_linalg_solve_ex": _solve, "linalg_solve_triangular": _triangular,
    "triangular_solve": _triangular, "linalg_qr": _tall(lambda m, n: 2 * n * n * m - 2 * n**3 // 3),
    "geqrf": _tall(lambda m, n: 2 * n * n * m - 2 * n**3 // 3), "linalg_cross": _cross,
    **dict.fromkeys(("linalg_svd", "_linalg_svd", "linalg_svdvals"), _tall(lambda m, n: 4 * n * n * m - 4 * n**3 // 3))}
