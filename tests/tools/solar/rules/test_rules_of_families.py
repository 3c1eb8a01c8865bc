"""Closed forms of operators that capture leaves whole, or that only other graphs hold."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules import aten
from enlist.tools.solar.rules.table import RULES
from enlist.tools.solar.work import Work

Of = Callable[..., Work]
B, H, Q, K, D = 2, 4, 6, 9, 8
HEADS = {"query": (B, H, Q, D), "key": (B, H, K, D), "value": (B, H, K, D)}
BOTTOM = sum(k <= q + K - Q for q in range(Q) for k in range(K))
WINDOW = sum(q + K - Q - 2 <= k <= q + K - Q for q in range(Q) for k in range(K))


@pytest.mark.parametrize(("op", "operands", "outputs", "attributes", "flop"), [
    ("mm", {"self": (3, 5), "mat2": (5, 7)}, [(3, 7)], {}, 2 * 3 * 5 * 7),
    ("addmm", {"self": (7,), "mat1": (3, 5), "mat2": (5, 7)}, [(3, 7)], {}, 2 * 3 * 5 * 7),
    ("addmv", {"self": (30,), "mat": (30, 50), "vec": (50,)}, [(30,)], {}, 2 * 30 * 50),
    ("addbmm", {"self": (3, 7), "batch1": (4, 3, 5), "batch2": (4, 5, 7)}, [(3, 7)], {}, 2 * 4 * 3 * 5 * 7),
    ("matmul", {"self": (20,), "other": (20, 30)}, [(30,)], {}, 2 * 20 * 30),
    ("matmul", {"self": (2, 1, 3, 5), "other": (4, 5, 7)}, [(2, 4, 3, 7)], {}, 2 * 2 * 4 * 3 * 5 * 7),
    ("_int_mm", {"self": ((32, 48), "int8"), "mat2": ((48, 16), "int8")}, [((32, 16), "int32")], {}, 2 * 32 * 48 * 16),
    ("_scaled_mm", {"self": ((32, 48), "float8_e4m3fn"), "mat2": ((48, 16), "float8_e4m3fn")},
     [((32, 16), "bfloat16")], {}, 2 * 32 * 48 * 16),
    ("_scaled_mm", {"self": ((32, 24), "uint8"), "mat2": ((24, 16), "uint8")}, [((32, 16), "bfloat16")], {},
     2 * 32 * 48 * 16),
    ("_weight_int8pack_mm", {"self": ((3, 64), "bfloat16"), "mat2": ((16, 64), "int8"), "scales": ((16,), "bfloat16")},
     [((3, 16), "bfloat16")], {}, 2 * 3 * 64 * 16),
    ("_weight_int4pack_mm", {"self": ((3, 64), "bfloat16"), "mat2": ((2, 4, 32, 4), "int32"),
                             "qScaleAndZeros": ((2, 16, 2), "bfloat16")}, [((3, 16), "bfloat16")], {}, 2 * 3 * 64 * 16),
    ("_grouped_mm", {"self": (10, 8), "mat2": (4, 8, 16), "offs": ((4,), "int32")}, [(10, 16)], {}, 2 * 10 * 8 * 16),
    ("_grouped_mm", {"self": (8, 10), "mat2": (10, 16), "offs": ((4,), "int32")}, [(4, 8, 16)], {}, 2 * 8 * 10 * 16),
    ("_trilinear", {"i1": (12, 5), "i2": (7, 5, 6), "i3": (12, 6)}, [(12, 7)], {}, 2 * 12 * 7 * 5 * 6),
    ("_scaled_dot_product_flash_attention", HEADS, [(B, H, Q, D)], {}, B * H * Q * K * 4 * D),
    ("_scaled_dot_product_efficient_attention", HEADS, [(B, H, Q, D)], {"is_causal": True},
     B * H * sum(k <= q for q in range(Q) for k in range(K)) * 4 * D),
    ("_flash_attention_forward", {"query": (B, Q, H, D), "key": (B, K, H, D), "value": (B, K, H, D)}, [(B, Q, H, D)],
     {"is_causal": True}, B * H * BOTTOM * 4 * D),
    ("_flash_attention_forward", {"query": (B, Q, H, D), "key": (B, K, H, D), "value": (B, K, H, D)}, [(B, Q, H, D)],
     {"is_causal": True, "window_size_left": 2}, B * H * WINDOW * 4 * D),
    ("_scaled_dot_product_flash_attention_backward", {"grad_out": (B, H, Q, D), **HEADS},
     [(B, H, Q, D), (B, H, K, D), (B, H, K, D)], {}, B * H * Q * K * 4 * 2 * D),
    ("convolution_backward", {"grad_output": (2, 6, 7, 7), "input": (2, 4, 9, 9), "weight": (6, 4, 3, 3)},
     [(2, 4, 9, 9), (6, 4, 3, 3)], {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1,
                                    "output_mask": [True, True, False]}, 2 * 2 * 2 * 6 * 4 * 9 * 49),
    ("linear_backward", {"self": (3, 5), "grad_output": (3, 7), "weight": (7, 5)}, [(3, 5), (7, 5)], {},
     2 * 2 * 3 * 5 * 7),
    ("_cudnn_rnn", {"input": (10, 3, 8), "weight": [(64, 8), (64, 16), (64,), (64,)]}, [(10, 3, 16)], {"mode": 2},
     2 * 10 * 3 * 64 * (8 + 16)),
    ("gru_cell", {"input": (3, 8), "hx": (3, 16), "w_ih": (48, 8), "w_hh": (48, 16)}, [(3, 16)], {},
     2 * 3 * 48 * (8 + 16)),
    ("linalg_cholesky_ex", {"self": (2, 30, 30)}, [(2, 30, 30)], {}, 2 * 30**3 // 3),
    ("linalg_solve_triangular", {"self": (30, 30), "B": (30, 4)}, [(30, 4)], {}, 30 * 30 * 4),
    ("_cdist_forward", {"x1": (5, 8), "x2": (7, 8)}, [(5, 7)], {"p": 2.0}, 2 * 5 * 7 * 8),
])
def test_matrix_flop_are_those_of_the_closed_form(work_of: Of, op: str, operands: dict[str, object],
                                                  outputs: list[object], attributes: dict[str, object],
                                                  flop: int) -> None:
    made = work_of(op, operands, outputs, attributes)
    assert made.matrix_flop == flop


def test_products_are_multiplied_in_the_dtype_that_weights_are_turned_into(work_of: Of) -> None:
    int8 = work_of("_weight_int8pack_mm", {"self": ((3, 64), "bfloat16"), "mat2": ((16, 64), "int8")},
                   [((3, 16), "bfloat16")])
    packed = work_of("_scaled_mm", {"self": ((32, 24), "uint8"), "mat2": ((24, 16), "uint8")}, [((32, 16), "bfloat16")])
    assert (int8.multiply, packed.multiply) == ("bfloat16", "float4_e2m1fn")


def test_identical_products_of_an_expanded_batch_are_made_once(work_of: Of) -> None:
    left = Tensor(id="left", shape=(4, 30, 50), strides=(0, 50, 1), dtype="float32", role="input")
    right = Tensor(id="right", shape=(4, 50, 20), strides=(0, 20, 1), dtype="float32", role="input")
    assert work_of("bmm", {"self": left, "mat2": right}, [(4, 30, 20)]).matrix_flop == 2 * 30 * 50 * 20
    assert work_of("bmm", {"self": left, "mat2": (4, 50, 20)}, [(4, 30, 20)]).matrix_flop == 4 * 2 * 30 * 50 * 20


def test_a_gradient_is_not_taken_as_constant(work_of: Of) -> None:
    ones = Tensor(id="ones", shape=(30, 50), strides=(0, 0), dtype="float32", role="input", structure="constant")
    args = ("mm", {"self": ones, "mat2": (50, 20)}, [(30, 20)])
    assert work_of(*args).matrix_flop == 0 and work_of(*args, phase="backward").matrix_flop == 2 * 30 * 50 * 20


def test_routed_rows_meet_one_expert_and_one_expert_is_surely_read(work_of: Of) -> None:
    made = work_of("_grouped_mm", {"self": (10, 8), "mat2": (4, 8, 16), "offs": ((4,), "int32")}, [(10, 16)])
    assert made.surely == {"mat20": 8 * 16} and "group" in made.less


@pytest.mark.parametrize(("op", "operands", "outputs", "attributes", "flop", "special"), [
    ("add", {"self": (4, 8), "other": (4, 8)}, [(4, 8)], {"alpha": 2}, 64, 0),
    ("add", {"self": ((4, 8), "int64")}, [((4, 8), "int64")], {"other": 1}, 0, 0),
    ("logical_and", {"self": ((4, 8), "bool"), "other": ((4, 8), "bool")}, [((4, 8), "bool")], {}, 0, 0),
    ("mul", {"self": ((4, 8), "complex64"), "other": ((4, 8), "complex64")}, [((4, 8), "complex64")], {}, 6 * 32, 0),
    ("div", {"self": (4, 8), "other": (4, 1)}, [(4, 8)], {}, 32, 4),
    ("div", {"self": (4, 8)}, [(4, 8)], {"other": 3.0}, 32, 0),
    ("pow", {"self": (4, 8)}, [(4, 8)], {"exponent": 4}, 64, 0),
    ("pow", {"self": (4, 8)}, [(4, 8)], {"exponent": 2.5}, 0, 32),
    ("clamp", {"self": (4, 8)}, [(4, 8)], {"min": 0}, 32, 0),
    ("gelu_backward", {"grad_output": (4, 8), "self": (4, 8)}, [(4, 8)], {}, 5 * 32, 32),
    ("tanh_backward", {"grad_output": (4, 8), "output": (4, 8)}, [(4, 8)], {}, 3 * 32, 0),
    ("_softmax_backward_data", {"grad_output": (4, 8), "output": (4, 8)}, [(4, 8)], {"dim": 1}, 4 * 32, 0),
    ("logsumexp", {"self": (4, 8)}, [(4,)], {"dim": [1]}, 3 * 28 + 4, 32 + 4),
    ("linalg_vector_norm", {"self": (4, 8)}, [(4,)], {"ord": 1, "dim": [1]}, 28, 0),
    ("std", {"self": (4, 8)}, [(4,)], {}, 3 * 28 + 8, 4), ("cumprod", {"self": (4, 8)}, [(4, 8)], {"dim": 1}, 28, 0),
    ("mse_loss", {"self": (4, 8), "target": (4, 8)}, [()], {}, 3 * 32 - 1, 0),
    ("mse_loss", {"self": (4, 8), "target": (4, 8)}, [(4, 8)], {"reduction": 0}, 2 * 32, 0),
    ("_foreach_addcdiv", {"self": [(4, 8), (3,)], "tensor1": [(4, 8), (3,)], "tensor2": [(4, 8), (3,)]},
     [(4, 8), (3,)], {}, 70, 35),
    ("_fused_adamw", {"self": [(4, 8), (3,)], "grads": [(4, 8), (3,)], "exp_avgs": [(4, 8), (3,)]}, [(4, 8), (3,)], {},
     12 * 35, 2 * 35),
    ("avg_pool1d", {"self": (2, 3, 8)}, [(2, 3, 4)], {"kernel_size": [2], "stride": [2]}, 24 + 24, 0),
    ("adaptive_max_pool2d", {"self": (2, 3, 8, 8)}, [(2, 3, 4, 4)], {}, 6 * (64 - 16), 0),
    ("scatter_add", {"self": (4, 8), "index": ((4, 8), "int64"), "src": (4, 8)}, [(4, 8)], {"dim": 1}, 32, 0),
    ("col2im", {"self": (1, 9, 4)}, [(1, 1, 4, 4)], {}, 36 - 16, 0),
])
def test_vector_work_is_that_of_the_closed_form(work_of: Of, op: str, operands: dict[str, object],
                                                outputs: list[object], attributes: dict[str, object], flop: int,
                                                special: int) -> None:
    made = work_of(op, operands, outputs, attributes)
    assert (made.vector_flop, made.special, made.matrix_flop) == (flop, special, 0)


@pytest.mark.parametrize(("op", "operands", "outputs", "attributes", "group"), [
    ("softmax", {"self": (4, 8)}, (4, 8), {"dim": 0}, 4), ("layer_norm", {"input": (5, 4, 8)}, (5, 4, 8),
                                                           {"normalized_shape": [4, 8]}, 32),
    ("group_norm", {"input": (2, 6, 5)}, (2, 6, 5), {"num_groups": 3}, 10),
    ("_native_batch_norm_legit", {"input": (2, 6, 5)}, (2, 6, 5), {"training": True}, 10)])
def test_what_is_normalised_is_read_again(work_of: Of, op: str, operands: dict[str, object], outputs: tuple[int, ...],
                                          attributes: dict[str, object], group: int) -> None:
    made = work_of(op, operands, [outputs], attributes)
    assert (made.group, made.twice) == (group, True)


@pytest.mark.parametrize(("op", "operands", "outputs", "attributes", "surely", "writes"), [
    ("index_copy", {"self": (2, 100, 8), "index": ((1,), "int64"), "source": (2, 1, 8)}, (2, 100, 8), {"dim": 1},
     {"self0": 0}, 16),
    ("index_put", {"self": (100, 8), "indices": ((3,), "int64"), "values": (3, 8)}, (100, 8), {}, {"self0": 0}, 8),
    ("slice_scatter", {"self": (2, 100, 8), "src": (2, 5, 8)}, (2, 100, 8), {"dim": 1}, {"self0": 0}, 80),
    ("scatter", {"self": (4, 100), "index": ((4, 3), "int64"), "src": (4, 3)}, (4, 100), {"dim": 1}, {"self0": 0}, 4),
    ("index", {"self": (100, 8), "indices": ((3, 5), "int64")}, (3, 5, 8), {}, {"self0": 8}, None),
    ("embedding", {"weight": (100, 8), "indices": ((3, 5), "int64")}, (3, 5, 8), {}, {"weight0": 8}, None),
    ("gather", {"self": (4, 100), "index": ((4, 3), "int64")}, (4, 3), {"dim": 1}, {"self0": 1}, None)])
def test_places_that_data_choose_are_sure_once(work_of: Of, op: str, operands: dict[str, object],
                                               outputs: tuple[int, ...], attributes: dict[str, object],
                                               surely: dict[str, int], writes: int | None) -> None:
    made = work_of(op, operands, [outputs], attributes)
    assert (made.surely, made.writes) == (surely, writes)


@pytest.mark.parametrize(("op", "operands", "outputs", "attributes", "reads"), [
    ("zeros_like", {"self": (4, 8)}, (4, 8), {}, 0), ("copy", {"self": (4, 8), "src": (4, 8)}, (4, 8), {}, 0),
    ("triu", {"self": (4, 8)}, (4, 8), {}, 8 + 7 + 6 + 5), ("constant_pad_nd", {"self": (4, 8)}, (2, 8), {}, 16),
    ("upsample_nearest2d", {"self": (1, 1, 8, 8)}, (1, 1, 4, 4), {}, 16), ("trace", {"self": (5, 8)}, (), {}, 5)])
def test_what_is_not_needed_is_not_read(work_of: Of, op: str, operands: dict[str, object], outputs: tuple[int, ...],
                                        attributes: dict[str, object], reads: int) -> None:
    assert work_of(op, operands, [outputs], attributes).reads == {"self0": reads}


def test_a_convolution_as_a_product_shares_the_input_of_its_windows(work_of: Of) -> None:
    """Of nine taps at stride one three are as good as new, sqrt(9); at stride three, all nine."""
    operands = {"input": (2, 16, 29, 29), "weight": (32, 16, 3, 3)}
    near = work_of("conv2d", operands, [(2, 32, 27, 27)], {})
    far = work_of("conv2d", operands, [(2, 32, 9, 9)], {"stride": [3, 3]})
    assert [(n.m, n.n, n.k) for n in near.nests] == [(2 * 27 * 27, 32, 16 * 3)]
    assert [(n.m, n.n, n.k) for n in far.nests] == [(2 * 9 * 9, 32, 16 * 9)]


def test_lengths_that_are_data_are_not_modelled(modelled: Callable[..., bool]) -> None:
    operands = {"query": (8, H, D), "key": (8, H, D), "value": (8, H, D)}
    assert not modelled("_flash_attention_forward", operands | {"cum_seq_q": ((3,), "int32")}, [(8, H, D)])


def test_every_operator_that_stays_whole_has_a_rule() -> None:
    assert set(RULES) >= aten.WHOLE and set(RULES) >= aten.IN_PLACE
