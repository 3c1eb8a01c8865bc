"""Causal attention, windows and triangles written with masks, against counts by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from enlist.tools.solar.pricing.bounds import Bounds

Priced = Callable[..., Bounds]
HEADS, LENGTH, WIDTH = 2 * 4, 64, 32
CAUSAL = HEADS * 2 * 2 * WIDTH * LENGTH * (LENGTH + 1) // 2
BY_HAND = """
def fn(q, k, v):
    scores = jnp.einsum('bhqd,bhkd->bhqk', q, k) / 8.0
    seen = jnp.tril(jnp.ones((64, 64), bool))
    {masking}
    return jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax(scores, axis=-1), v)
"""
HEAD_FIRST = ("(2, 4, 64, 32)",) * 3
HEAD_LATER = ("(2, 64, 4, 32)",) * 3


@pytest.mark.parametrize("masking", [
    "scores = jnp.where(seen, scores, -jnp.inf)", "scores = jnp.where(~seen, -1e9, scores)",
    "scores = scores + jnp.where(seen, 0.0, -1e9)", "scores = jnp.where(seen, scores, jnp.finfo(scores.dtype).min)",
    "i = jnp.arange(64); scores = jnp.where(i[:, None] >= i[None, :], scores, -1e30)",
    "scores = jnp.tanh(scores / 30.0) * 30.0; scores = jnp.where(seen, scores, -1e9)",
])
def test_causal_attention_by_hand_counts_half(masking: str, priced_jax: Priced) -> None:
    made = priced_jax(BY_HAND.format(masking=masking), *HEAD_FIRST)
    assert made.flop["tensor.tf32"] == CAUSAL
    assert made.fused_bytes == 4 * 4 * HEADS * LENGTH * WIDTH


def test_attention_without_a_mask_or_with_one_from_outside_counts_whole(priced_jax: Priced) -> None:
    whole = HEADS * 2 * 2 * WIDTH * LENGTH**2
    assert priced_jax(BY_HAND.format(masking="pass"), *HEAD_FIRST).flop["tensor.tf32"] == whole
    given = BY_HAND.format(masking="scores = jnp.where(m, scores, -1e9)").replace("(q, k, v)", "(q, k, v, m)")
    assert priced_jax(given, *HEAD_FIRST, "S((64, 64), bool)").flop["tensor.tf32"] == whole


def test_the_library_attention_is_followed_into_its_masks(priced_jax: Priced) -> None:
    causal = priced_jax("fn = lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True)", *HEAD_LATER)
    assert causal.flop["tensor.tf32"] == CAUSAL
    window = priced_jax("fn = lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True, "
                        "local_window_size=(8, 0))", *HEAD_LATER)
    pairs = sum(min(i + 1, 9) for i in range(LENGTH))
    assert window.flop["tensor.tf32"] == HEADS * 2 * 2 * WIDTH * pairs


def test_gradients_of_causal_attention_are_three_times_its_products(priced_jax: Priced) -> None:
    body = BY_HAND.format(masking="scores = jnp.where(seen, scores, -jnp.inf)")
    assert priced_jax(body, *HEAD_FIRST, training="backward").flop["tensor.tf32"] == 3 * CAUSAL


def test_products_of_triangles_count_what_is_not_zero(priced_jax: Priced) -> None:
    n = 24
    lower = np.tril(np.ones((n, n), dtype=int))
    both = 2 * sum(lower[i, k] * lower[k, j] for i in range(n) for j in range(n) for k in range(n))
    assert both == n * (n + 1) * (n + 2) // 3
    shapes = ("(24, 24)", "(24, 24)")
    triangle = 4 * n * (n + 1) // 2
    product = priced_jax("fn = lambda a, b: jnp.tril(a) @ jnp.tril(b)", *shapes)
    assert product.flop["tensor.tf32"] == both and product.fused_bytes == 2 * triangle + 4 * n * n
    assert priced_jax("fn = lambda a, b: jnp.tril(jnp.tril(a) @ jnp.tril(b))", *shapes).flop["tensor.tf32"] == both
    one = 2 * n * n * (n + 1) // 2
    assert priced_jax("fn = lambda a, b: jnp.triu(a) @ b", *shapes).flop["tensor.tf32"] == one
    assert priced_jax("fn = lambda a, b: jnp.tril(a @ b)", *shapes).flop["tensor.tf32"] == one
    mixed = 2 * sum(lower[i, k] * lower[j, k] for i in range(n) for j in range(n) for k in range(n))
    assert priced_jax("fn = lambda a, b: jnp.tril(a) @ jnp.triu(b)", *shapes).flop["tensor.tf32"] == mixed


def test_weights_that_happen_to_be_zero_are_weights_and_a_mask_held_as_numbers_can_be_turned_off(
        priced_jax: Priced) -> None:
    zeros = priced_jax("W = jnp.zeros((32, 32))\nfn = lambda x: x @ W", "(8, 32)")
    assert zeros.flop["tensor.tf32"] == 2 * 8 * 32 * 32
    held = "W = jnp.tril(jnp.ones((32, 32)))\nfn = lambda x: x @ W"
    assert priced_jax(held, "(8, 32)").flop["tensor.tf32"] == 2 * 8 * 32 * 33 // 2
    assert any("structure of W" in line for line in priced_jax(held, "(8, 32)").assumed)
    assert priced_jax(held, "(8, 32)", structure=False).flop["tensor.tf32"] == 2 * 8 * 32 * 32
