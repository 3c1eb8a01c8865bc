"""Loops, updates and gathers that XLA's own count gets wrong, against closed forms."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.pricing.bounds import Bounds

Priced = Callable[..., Bounds]
SQUARE = ("(512, 512)", "(512, 512)")
TEN = 10 * 2 * 512**3


@pytest.mark.parametrize("body", [
    "fn = lambda x, w: lax.scan(lambda c, _: (c @ w, None), x, None, length=10)[0]",
    "fn = lambda x, w: lax.fori_loop(0, 10, lambda i, c: c @ w, x)",
    "fn = lambda x, w: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] @ w), (0, x))[1]",
    "fn = lambda x, w: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c @ w, x))(10)",
    "fn = lambda x, w: lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] @ w), (1024, x))[1]",
])
def test_a_loop_counts_every_turn_and_reads_what_it_needs_once(body: str, priced_jax: Priced) -> None:
    made = priced_jax(body, *SQUARE)
    assert made.flop == {"tensor.tf32": TEN} and TEN == 2_684_354_560
    assert made.fused_bytes == 3 * 512 * 512 * 4


def test_a_loop_whose_count_depends_on_data_counts_no_turn_unless_told(priced_jax: Priced) -> None:
    body = "fn = lambda x, w: lax.while_loop(lambda s: s.sum() < 10, lambda s: s @ w, x)"
    unknown, told = priced_jax(body, *SQUARE), priced_jax(body, *SQUARE, inputs="trips=10")
    assert "tensor.tf32" not in unknown.flop and any("trip count depends on data" in a for a in unknown.assumed)
    assert told.flop["tensor.tf32"] == TEN and any("10 turns, as given" in a for a in told.assumed)


def test_nested_loops_multiply(priced_jax: Priced) -> None:
    body = ("fn = lambda x, w: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, 5, lambda j, d: d @ w, c), x)")
    assert priced_jax(body, *SQUARE).flop == {"tensor.tf32": 15 * 2 * 512**3}


def test_a_stack_of_inputs_is_read_once_and_a_stack_of_results_written_once(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(4), x)", "(10, 4)")
    assert made.fused_bytes == 4 * (10 * 4 + 10 * 4 + 4)
    by_index = priced_jax("fn = lambda x: lax.fori_loop(0, 10, lambda i, a: a + x[i], jnp.zeros(4))", "(10, 4)")
    assert by_index.fused_bytes == 4 * (10 * 4 + 4)


def test_a_gather_touches_its_rows_and_an_update_its_row(priced_jax: Priced) -> None:
    rows = priced_jax("fn = lambda x, i: x[i]", "(100000, 256)", "S((4,), jnp.int32)")
    assert 8192 <= rows.unfused_bytes < 8192 + 200  # four rows read, four written, indices
    assert rows.fused_bytes == 1024 + 4096 + 16  # the indices may all be the same
    known = priced_jax("fn = lambda x: x[jnp.array([5, 7, 9, 7])]", "(100000, 256)")
    assert known.fused_bytes - 4096 in range(3 * 1024, 3 * 1024 + 100)
    update = priced_jax("fn = lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0))", "(20000, 256)", "(1, 256)",
                        "S((), jnp.int32)")
    assert update.fused_bytes == 2 * 1024 + 4


def test_a_thousand_additions_fused_move_their_ends(priced_jax: Priced) -> None:
    made = priced_jax("def fn(x):\n    for _ in range(1000):\n        x = x + 1.0\n    return x", "(2500000,)")
    assert made.fused_bytes == 20_000_000 and made.flop == {"vector.fp32": 2_500_000_000}


def test_the_cheaper_branch_is_counted_and_said(priced_jax: Priced) -> None:
    made = priced_jax("fn = lambda x, w: lax.cond(x.sum() > 0, lambda: x @ w, lambda: x)", *SQUARE)
    assert "tensor.tf32" not in made.flop and any("the cheapest" in a for a in made.assumed)
    sure = priced_jax("fn = lambda x, w: lax.cond(2 > 1, lambda: x @ w, lambda: x)", *SQUARE)
    assert sure.flop == {"tensor.tf32": 2 * 512**3}


DECODE = """
def fn(params, cache, x, position):
    def layer(x, given):
        w, keys = given
        new = (x @ w)[:, None]
        keys = lax.dynamic_update_slice(keys, new, (0, position, 0))
        weights = jax.nn.softmax(jnp.einsum('bd,bsd->bs', x, keys))
        return jnp.einsum('bs,bsd->bd', weights, keys), keys
    return lax.scan(layer, x, (params, cache))
"""


def test_decoding_reads_its_cache_once_and_writes_a_row(priced_jax: Priced) -> None:
    layers, batch, length, width = 3, 2, 24, 32
    made = priced_jax(DECODE, "(3, 32, 32)", "(3, 2, 24, 32)", "(2, 32)", "S((), jnp.int32)")
    assert made.flop["tensor.tf32"] == layers * 2 * batch * width * (width + 2 * length)
    cache = {t.way: t.bytes for t in made.transfers if t.name == "cache"}
    assert cache == {"in": 4 * layers * batch * (length - 1) * width, "out": 4 * batch * width}


def test_a_training_step_through_a_scan_is_three_forward_passes(priced_jax: Priced) -> None:
    body = """
def fn(params, x):
    def layer(x, w):
        q = jnp.einsum('bsd,de->bse', x, w)
        s = jnp.where(jnp.tril(jnp.ones((16, 16), bool)), jnp.einsum('bsd,btd->bst', q, q), -jnp.inf)
        return jnp.einsum('bst,btd->bsd', jax.nn.softmax(s), q), None
    return (lax.scan(layer, x, params)[0] ** 2).sum()
"""
    shapes = ("(3, 8, 8)", "(2, 16, 8)")
    forward = priced_jax(body, *shapes).flop["tensor.tf32"]
    assert forward == 3 * (2 * 2 * 16 * 8 * 8 + 2 * 2 * 2 * 8 * 16 * 17 // 2)
    first_input = 2 * 2 * 16 * 8 * 8  # nobody asks for the gradient by x, but a scan makes it in every turn
    step = priced_jax(body, *shapes, training="backward").flop["tensor.tf32"]
    assert 3 * forward - first_input <= step <= 3 * forward
