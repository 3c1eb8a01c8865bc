"""The least work of seventy kinds of operator by hand, and every row of a table of probes that other tools get wrong.

Each truth is a closed form written out as a formula of the sizes, never a figure that a run printed. FLOP are two for a
multiply and an add. Where a row names a `counter`, `FlopCounterMode` must give the same number on meta tensors;
where it is not, the remarks say what it gives (probes of torch 2.14.1 and of SOLAR's public code).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Any

import pytest

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.work import Work

Of = Callable[..., Work]
B, H, G, Q, K, D = 2, 8, 2, 12, 20, 16
M, N, P = 24, 32, 40
ATTEND = "scaled_dot_product_attention"
HEADS = {"query": (B, H, Q, D), "key": (B, H, K, D), "value": (B, H, K, D)}
GROUPED = {"query": (B, H, Q, D), "key": (B, G, K, D), "value": (B, G, K, D)}
IMAGE, KERNEL = {"input": (B, 4, 9, 9)}, {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}
CAUSAL = sum(k <= q for q in range(Q) for k in range(K))
TRANSFORM = int(3 * N * log2(N) - 5 * N)
LSTM = {"input": (10, 3, 8), "weight": [(64, 8), (64, 16), (64,), (64,)]}


def tensor(name: str, shape: Sequence[int], **more: Any) -> Tensor:
    strides, span = [], 1
    for size in reversed(shape):
        strides.append(span)
        span *= size
    return Tensor(id=name, shape=tuple(shape), strides=tuple(reversed(strides)), dtype="float32", role="input", **more)


@dataclass(frozen=True)
class Truth:
    """FLOP on matrix units, FLOP beside them and evaluations of special functions (None: not held here)."""

    name: str
    op: str
    operands: Mapping[str, Any]
    output: Any
    matrix: int = 0
    vector: int | None = 0
    special: int | None = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    counter: str = ""  # an expression over torch that its counter counts right


def mm(name: str, op: str, operands: Mapping[str, Any], output: Any, flop: int, counter: str = "",
       **more: Any) -> Truth:
    return Truth(name, op, operands, output, flop, counter=counter, attributes=more)


def each(name: str, vector: int = 0, special: int = 0, **attributes: Any) -> Truth:
    return Truth(name, name, {"self": (M, N)}, (M, N), 0, vector * M * N, special * M * N, attributes)


def to(name: str, output: Sequence[int], vector: int, special: int = 0, **attributes: Any) -> Truth:
    return Truth(name, name, {"self": (M, N)}, tuple(output), 0, vector, special, attributes)


def attention(name: str, operands: Mapping[str, Any], pairs: int, **attributes: Any) -> Truth:
    """Two products of width D, three FLOP and one exponential for each pair of a query and a key."""
    return Truth(name, ATTEND, operands, (B, H, Q, D), pairs * 4 * D, 3 * pairs, pairs, attributes)


TRUTHS = [
    # Products: the counter is right about matrices, and says 0 for a vector, int8 and quantised weights.
    mm("mm", "mm", {"self": (M, P), "mat2": (P, N)}, (M, N), 2 * M * P * N, "t(24, 40) @ t(40, 32)"),
    mm("addmm", "addmm", {"self": (N,), "mat1": (M, P), "mat2": (P, N)}, (M, N), 2 * M * P * N,
       "torch.addmm(t(32), t(24, 40), t(40, 32))"),
    mm("bmm", "bmm", {"self": (B, M, P), "mat2": (B, P, N)}, (B, M, N), 2 * B * M * P * N,
       "torch.bmm(t(2, 24, 40), t(2, 40, 32))"),
    mm("baddbmm", "baddbmm", {"self": (B, M, N), "batch1": (B, M, P), "batch2": (B, P, N)}, (B, M, N),
       2 * B * M * P * N, "torch.baddbmm(t(2, 24, 32), t(2, 24, 40), t(2, 40, 32))"),
    mm("linear", "linear", {"input": (B, M, P), "weight": (N, P), "bias": (N,)}, (B, M, N), 2 * B * M * P * N,
       "F.linear(t(2, 24, 40), t(32, 40), t(32))"),
    mm("matmul of a batch", "matmul", {"self": (B, M, P), "other": (P, N)}, (B, M, N), 2 * B * M * P * N,
       "t(2, 24, 40) @ t(40, 32)"),
    mm("matrix by vector", "mv", {"self": (M, P), "vec": (P,)}, (M,), 2 * M * P),
    mm("vector by vector", "dot", {"self": (P,), "tensor": (P,)}, (), 2 * P),
    mm("int8", "_int_mm", {"self": ((M, P), "int8"), "mat2": ((P, N), "int8")}, ((M, N), "int32"), 2 * M * P * N),
    mm("fp8", "_scaled_mm", {"self": ((M, P), "float8_e4m3fn"), "mat2": ((P, N), "float8_e4m3fn")},
       ((M, N), "bfloat16"), 2 * M * P * N),
    mm("fp4 of blocks", "_scaled_mm", {"self": ((M, P // 2), "uint8"), "mat2": ((P // 2, N), "uint8")},
       ((M, N), "bfloat16"), 2 * M * P * N),
    mm("int8 weights", "_weight_int8pack_mm", {"self": ((M, P), "bfloat16"), "mat2": ((N, P), "int8")},
       ((M, N), "bfloat16"), 2 * M * P * N),
    mm("experts", "_grouped_mm", {"self": (M, P), "mat2": (4, P, N), "offs": ((4,), "int32")}, (M, N), 2 * M * P * N),
    mm("bilinear", "_trilinear", {"i1": (M, 5), "i2": (7, 5, 6), "i3": (M, 6)}, (M, 7), 2 * M * 7 * 5 * 6),
    mm("complex", "mm", {"self": ((M, P), "complex64"), "mat2": ((P, N), "complex64")}, ((M, N), "complex64"),
       3 * 2 * M * P * N),
    mm("upper by upper", "mm", {"self": tensor("a", (N, N), structure="upper"),
                                "mat2": tensor("b", (N, N), structure="upper")}, (N, N),
       2 * N * (N + 1) * (N + 2) // 6),
    mm("upper by dense", "mm", {"self": tensor("a", (N, N), structure="upper"), "mat2": (N, P)}, (N, P),
       2 * P * N * (N + 1) // 2),
    Truth("diagonal by dense", "mm", {"self": tensor("a", (N, N), structure="diagonal"), "mat2": (N, P)}, (N, P),
          vector=N * P),
    Truth("outer", "outer", {"self": (M,), "vec2": (N,)}, (M, N), vector=M * N),
    # Attention: on the CPU the counter says 0, on the meta device it takes a causal mask for none.
    attention("attention", HEADS, B * H * Q * K),
    attention("attention, causal", HEADS, B * H * CAUSAL, is_causal=True),
    attention("attention, grouped", GROUPED, B * H * Q * K, enable_gqa=True),
    attention("attention, grouped and causal", GROUPED, B * H * CAUSAL, enable_gqa=True, is_causal=True),
    # Convolutions without padding, where the counter is right; with it the counter multiplies zeros.
    mm("conv1d", "conv1d", {"input": (B, 4, 9), "weight": (6, 4, 3)}, (B, 6, 7), 2 * B * 6 * 4 * 7 * 3,
       "F.conv1d(t(2, 4, 9), t(6, 4, 3))"),
    mm("conv2d", "conv2d", IMAGE | {"weight": (6, 4, 3, 3)}, (B, 6, 7, 7), 2 * B * 6 * 4 * 49 * 9,
       "F.conv2d(t(2, 4, 9, 9), t(6, 4, 3, 3))"),
    mm("conv2d of groups", "conv2d", IMAGE | {"weight": (6, 2, 3, 3)}, (B, 6, 7, 7), 2 * B * 6 * 2 * 49 * 9,
       "F.conv2d(t(2, 4, 9, 9), t(6, 2, 3, 3), groups=2)", groups=2),
    mm("conv2d with stride", "conv2d", IMAGE | {"weight": (6, 4, 3, 3)}, (B, 6, 4, 4), 2 * B * 6 * 4 * 16 * 9,
       "F.conv2d(t(2, 4, 9, 9), t(6, 4, 3, 3), stride=2)", stride=[2, 2]),
    mm("conv2d with padding", "conv2d", IMAGE | {"weight": (6, 4, 3, 3)}, (B, 6, 9, 9),
       2 * B * 6 * 4 * (3 * 9 - 2) ** 2, padding=[1, 1]),
    mm("conv3d", "conv3d", {"input": (B, 4, 5, 5, 5), "weight": (6, 4, 2, 2, 2)}, (B, 6, 4, 4, 4),
       2 * B * 6 * 4 * 64 * 8, "F.conv3d(t(2, 4, 5, 5, 5), t(6, 4, 2, 2, 2))"),
    mm("conv_transpose2d", "conv_transpose2d", IMAGE | {"weight": (4, 3, 3, 3)}, (B, 3, 11, 11),
       2 * B * 4 * 3 * 81 * 9, "F.conv_transpose2d(t(2, 4, 9, 9), t(4, 3, 3, 3))"),
    mm("conv_transpose3d", "conv_transpose3d", {"input": (B, 4, 5, 5, 5), "weight": (4, 3, 2, 2, 2)}, (B, 3, 6, 6, 6),
       2 * B * 4 * 3 * 125 * 8, "F.conv_transpose3d(t(2, 4, 5, 5, 5), t(4, 3, 2, 2, 2))"),
    # Layers with states: the counter says 0.
    Truth("lstm", "_cudnn_rnn", LSTM, (10, 3, 16), 2 * 10 * 3 * 64 * (8 + 16), 13 * 480, 5 * 480, {"mode": 2}),
    Truth("lstm, projected", "_cudnn_rnn", {"input": (10, 3, 8), "weight": [(64, 8), (64, 6), (6, 16)]}, (10, 3, 6),
          2 * 10 * 3 * (64 * 8 + 64 * 6 + 6 * 16), 13 * 480, 5 * 480, {"mode": 2, "proj_size": 6}),
    Truth("gru step", "gru_cell", {"input": (3, 8), "hx": (3, 16), "w_ih": (48, 8), "w_hh": (48, 16)}, (3, 16),
          2 * 3 * 48 * (8 + 16), 12 * 48, 3 * 48),
    # Factorisations, solvers, transforms, distances: the counter says 0.
    mm("cholesky", "linalg_cholesky_ex", {"self": (B, N, N)}, (B, N, N), B * N**3 // 3),
    mm("lu", "linalg_lu_factor_ex", {"self": (N, N)}, (N, N), 2 * N**3 // 3),
    mm("qr", "linalg_qr", {"self": (P, N)}, (P, N), 2 * N * N * P - 2 * N**3 // 3),
    mm("inverse", "linalg_inv_ex", {"self": (N, N)}, (N, N), N**3),
    mm("determinant", "_linalg_det", {"self": (N, N)}, (), 2 * N**3 // 3),
    mm("eigenvalues of a symmetric matrix", "_linalg_eigh", {"self": (N, N)}, (N,), 4 * N**3 // 3),
    mm("singular values", "_linalg_svd", {"self": (P, N)}, (N,), 4 * N * N * P - 4 * N**3 // 3),
    mm("solve", "_linalg_solve_ex", {"A": (N, N), "B": (N, 4)}, (N, 4), 2 * N**3 // 3 + 2 * N * N * 4),
    mm("triangular solve", "linalg_solve_triangular", {"self": (N, N), "B": (N, 4)}, (N, 4), N * N * 4),
    mm("fft", "_fft_c2c", {"self": ((M, N), "complex64")}, ((M, N), "complex64"), M * TRANSFORM, dim=[1]),
    mm("fft of reals", "_fft_r2c", {"self": (M, N)}, ((M, N // 2 + 1), "complex64"), M * TRANSFORM // 2, dim=[1]),
    Truth("distances", "_cdist_forward", {"x1": (M, D), "x2": (N, D)}, (M, N), 2 * M * N * D, 0, M * N, {"p": 2.0}),
    Truth("distances, L1", "_cdist_forward", {"x1": (M, D), "x2": (N, D)}, (M, N), 0, 2 * M * N * D, 0, {"p": 1.0}),
    # Elementwise and special functions: the counter says 0.
    each("relu", 1), each("tanh", 0, 1), each("exp", 0, 1), each("sigmoid", 2, 1), each("silu", 3, 1),
    each("gelu", 4, 1), each("rsqrt", 0, 1), each("abs", 1), each("sin", 0, 1), each("erf", 0, 1),
    Truth("add", "add", {"self": (M, N), "other": (M, N)}, (M, N), vector=M * N),
    Truth("add of integers", "add", {"self": ((M, N), "int64"), "other": ((M, N), "int64")}, ((M, N), "int64")),
    Truth("and of booleans", "logical_and", {"self": ((M, N), "bool"), "other": ((M, N), "bool")}, ((M, N), "bool")),
    Truth("product of complex numbers", "mul", {"self": ((M, N), "complex64"), "other": ((M, N), "complex64")},
          ((M, N), "complex64"), vector=6 * M * N),
    Truth("quotient by a row", "div", {"self": (M, N), "other": (N,)}, (M, N), vector=M * N, special=N),
    # Reductions and scans: n - 1 steps for n numbers.
    to("sum", (), M * N - 1), to("mean", (M,), M * (N - 1) + M, dim=[1]), to("amax", (M,), M * (N - 1), dim=[1]),
    to("argmax", (M,), M * (N - 1), dim=1), to("var", (M,), M * (3 * (N - 1) + 2), dim=[1]),
    to("logsumexp", (M,), M * (3 * (N - 1) + 1), M * N + M, dim=[1]), to("cumsum", (M, N), M * (N - 1), dim=1),
    to("cumprod", (M, N), M * (N - 1), dim=1), to("logcumsumexp", (M, N), 2 * M * (N - 1), M * (N - 1), dim=1),
    to("softmax", (M, N), M * (4 * N - 2), M * N + M, dim=1), to("sort", (M, N), 0, dim=1),
    to("linalg_vector_norm", (), 2 * M * N - 1, 1), to("kthvalue", (M,), M * (N - 1), dim=1, k=3),
    # What only moves.
    each("triu"), each("roll"), each("clone"), to("topk", (M, 4), 0, k=4), each("bernoulli"),
    Truth("embedding", "embedding", {"weight": (100, D), "indices": ((M,), "int64")}, (M, D)),
    Truth("index_add", "index_add", {"self": (100, D), "index": ((M,), "int64"), "source": (M, D)}, (100, D),
          vector=M * D, attributes={"dim": 0}),
    Truth("max_pool2d", "max_pool2d", {"self": (B, 4, 9, 9)}, (B, 4, 3, 3), vector=B * 4 * 9 * 8,
          attributes={"kernel_size": [3, 3], "stride": [3, 3]}),
]


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda t: t.name)
def test_the_work_of_an_operator_is_its_closed_form(work_of: Of, truth: Truth) -> None:
    made = work_of(truth.op, truth.operands, [truth.output], truth.attributes)
    assert (made.matrix_flop, made.vector_flop, made.special) == (truth.matrix, truth.vector, truth.special)


def test_the_table_holds_at_least_sixty_operators() -> None:
    assert len({t.name for t in TRUTHS}) == len(TRUTHS) and len({t.op for t in TRUTHS}) >= 60


@pytest.mark.parametrize("truth", [t for t in TRUTHS if t.counter], ids=lambda t: t.name)
def test_torchs_counter_says_the_same_where_it_is_right(truth: Truth) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def meta(*shape: int) -> torch.Tensor:
        return torch.empty(shape, device="meta")

    with FlopCounterMode(display=False) as counter:
        eval(truth.counter, {"torch": torch, "F": torch.nn.functional, "t": meta})
    assert counter.get_total_flops() == truth.matrix > 0
