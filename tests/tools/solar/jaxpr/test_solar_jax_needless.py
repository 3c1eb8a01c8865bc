"""What an implementation need not do, or may do in a narrower dtype, is not in a lower bound."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.pricing.bounds import Bounds

Priced = Callable[..., Bounds]


def test_a_reduction_with_a_function_of_the_users_adds_every_element(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda x: lax.reduce(x, 0.0, lambda a, b: a + b, (1,))", "(16, 64)")
    assert made.flop == {"vector.fp32": 16 * 63}
    assert made.fused_bytes == 4 * (16 * 64 + 16)


@pytest.mark.parametrize(("precision", "roof"), [
    ("lax.DotAlgorithmPreset.BF16_BF16_F32", "bf16"), ("lax.DotAlgorithmPreset.BF16_BF16_F32_X3", "bf16"),
    ("lax.DotAlgorithmPreset.F16_F16_F32", "fp16"), ("lax.DotAlgorithmPreset.TF32_TF32_F32", "tf32"),
    ("lax.DotAlgorithmPreset.F32_F32_F32", "fp32"), ("lax.Precision.HIGHEST", "fp32"), ("None", "tf32")])
def test_the_peak_is_that_of_the_algorithm_asked_for(precision: str, roof: str, priced_jax: Priced) -> None:
    made = priced_jax(f"fn = lambda a, b: lax.dot(a, b, precision={precision})", "(64, 32)", "(32, 64)")
    assert made.flop == {f"tensor.{roof}": 2 * 64 * 64 * 32}


def test_equal_products_are_made_once(priced_jax: Priced) -> None:
    twice = priced_jax("fn = lambda x, w: jnp.sin(x @ w) + jnp.sin(x @ w)", "(64, 32)", "(32, 64)")
    assert twice.flop == {"tensor.tf32": 2 * 64 * 64 * 32, "vector.fp32": 64 * 64}
    assert twice.special == 64 * 64
    other = priced_jax("fn = lambda x, y, w: x @ w + y @ w", "(64, 32)", "(64, 32)", "(32, 64)")
    assert other.flop["tensor.tf32"] == 2 * 2 * 64 * 64 * 32


def test_what_no_turn_of_a_loop_changes_is_made_once(priced_jax: Priced) -> None:
    still = priced_jax("fn = lambda x, w: lax.fori_loop(0, 10, lambda i, c: c + x @ w, x)", "(32, 32)", "(32, 32)")
    assert still.flop["tensor.tf32"] == 2 * 32**3
    turning = priced_jax("fn = lambda x, w: lax.fori_loop(0, 10, lambda i, c: c @ w, x)", "(32, 32)", "(32, 32)")
    assert turning.flop["tensor.tf32"] == 10 * 2 * 32**3


def test_both_of_two_equal_results_are_written(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda x: (jnp.exp(x), jnp.exp(x))", "(64, 64)")
    assert made.special == 64 * 64
    assert made.fused_bytes == 3 * 4 * 64 * 64


def test_a_one_hot_product_reads_one_row_at_least_and_multiplies_nothing(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda i, w: jax.nn.one_hot(i, 5000) @ w", "S((8,), jnp.int32)", "(5000, 64)")
    assert made.flop == {}
    assert made.fused_bytes == 4 * (8 + 64 + 8 * 64)


@pytest.mark.parametrize("n", [8, 64, 1024])
def test_interleaving_halves_of_a_scan_adds_nothing(n: int, priced_jax: Priced) -> None:
    # The scheme adds pairs, scans them, and adds again between: T(n) = n/2 + T(n/2) + n/2 - 1
    made = priced_jax("fn = lambda x: lax.associative_scan(jnp.add, x)", f"({n},)")
    assert made.flop == {"vector.fp32": 2 * n - 2 - (n.bit_length() - 1)}


def test_of_branches_that_are_each_cheaper_in_something_only_what_all_write_is_counted(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda i, x: lax.switch(i, [lambda v: v @ v, lambda v: v + 1, jnp.exp], x)",
                      "S((), jnp.int32)", "(64, 64)")
    assert made.flop == {} and made.special == 0
    plain = priced_jax("fn = lambda i, x: lax.switch(i, [lambda v: v @ v + v, lambda v: v + 1], x)",
                       "S((), jnp.int32)", "(64, 64)")
    assert plain.flop == {"vector.fp32": 64 * 64}


def test_the_precision_that_is_said_is_that_of_the_framework(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda x: x @ x", "(64, 64)")
    assert made.devices[0].cls["precision"].startswith("JAX's defaults (TF32 for products")
