"""Primitives against closed forms and brute force."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.jaxpr.capture import capture
from enlist.tools.solar.pricing.bounds import Bounds
from enlist.tools.solar.rules.table import work

Priced = Callable[..., Bounds]
Capture = Callable[..., Graph]


@pytest.mark.parametrize(("body", "shapes", "flop"), [
    ("fn = lambda x, w, b: x @ w + b", ("(2, 128)", "(128, 146)", "(146,)"), 74_752),
    ("fn = lambda a, b: jnp.einsum('bij,bkj->bik', a, b)", ("(3, 8, 32)", "(3, 16, 32)"), 3 * 2 * 8 * 16 * 32),
    ("fn = lambda a, b: lax.dot_general(a, b, (((0,), (2,)), ((1,), (0,))))", ("(32, 3, 8)", "(3, 16, 32)"),
     3 * 2 * 8 * 16 * 32),
    ("fn = lambda a, x: a @ x", ("(64, 32)", "(32,)"), 2 * 64 * 32),
    ("fn = lambda a: jnp.linalg.cholesky(a)", ("(32, 32)",), sum((32 - j) * 2 * j + 31 - j for j in range(32))),
    ("fn = lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True)", ("(32, 32)", "(32, 8)"), 8 * 32**2),
    ("fn = lambda a: lax.linalg.lu(a)[0]", ("(32, 24)",),
     sum((32 - k) + 2 * (32 - k) * (24 - k) for k in range(1, 25))),
    ("fn = lambda x, w, g: lax.ragged_dot(x, w, g)", ("(8, 64)", "(4, 64, 16)", "S((4,), jnp.int32)"), 2 * 8 * 64 * 16),
    ("fn = lambda x: lax.map(lambda a: a @ a.T, x)", ("(5, 8, 32)",), 5 * 2 * 8 * 8 * 32),
    ("fn = jax.checkpoint(lambda x: jnp.tanh(x @ x.T))", ("(8, 32)",), 2 * 8 * 8 * 32),
    ("fn = jax.vmap(lambda a, b: a @ b)", ("(5, 8, 32)", "(5, 32, 8)"), 5 * 2 * 8 * 8 * 32),
])
def test_matrix_work_has_its_closed_form(body: str, shapes: tuple[str, ...], flop: int, priced_jax: Priced) -> None:
    made = priced_jax(body, *shapes)
    assert sum(n for roof, n in made.flop.items() if roof.startswith("tensor.")) == flop
    assert not made.unmodelled


def test_the_unit_follows_the_operands_and_not_the_result(priced_jax: Priced) -> None:
    wide = "fn = lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type={kind})"
    for dtype, kind, roof in (("jnp.int8", "jnp.int32", "int8"), ("jnp.bfloat16", "jnp.float32", "bf16"),
                              ("jnp.float8_e4m3fn", "jnp.float32", "fp8")):
        made = priced_jax(wide.format(kind=kind), f"S((8, 64), {dtype})", f"S((64, 8), {dtype})")
        assert made.flop == {f"tensor.{roof}": 2 * 8 * 8 * 64}


def test_products_of_widened_numbers_can_be_made_in_the_narrow_dtype(priced_jax: Priced) -> None:
    wide = "fn = lambda a, b: a.astype(f32) @ b.astype(f32).T"
    both = priced_jax(wide, "S((8, 64), jnp.bfloat16)", "S((8, 64), jnp.bfloat16)")
    assert both.flop == {"tensor.bf16": 2 * 8 * 8 * 64}
    assert priced_jax(wide, "S((8, 64), jnp.bfloat16)", "(8, 64)").flop == {"tensor.tf32": 2 * 8 * 8 * 64}
    weights = priced_jax("fn = lambda x, w: x @ w.astype(x.dtype)", "S((8, 64), jnp.bfloat16)", "S((64, 8), jnp.int4)")
    assert weights.flop == {"tensor.bf16": 2 * 8 * 8 * 64}
    assert weights.fused_bytes == 2 * 8 * 64 + 64 * 8 // 2 + 2 * 8 * 8
    scaled = priced_jax("fn = jax.nn.scaled_matmul", "S((1, 128, 256), jnp.float8_e4m3fn)",
                        "S((1, 64, 256), jnp.float8_e4m3fn)", "S((1, 128, 8), jnp.float8_e8m0fnu)",
                        "S((1, 64, 8), jnp.float8_e8m0fnu)")
    assert scaled.flop == {"tensor.fp8": 2 * 128 * 64 * 256}


def test_float32_products_run_at_the_rate_that_jax_allows_by_default(priced_jax: Priced) -> None:
    by_precision = {p: priced_jax(f"fn = lambda a, b: jnp.dot(a, b, precision={p!r})", "(32, 64)", "(64, 32)").flop
                    for p in (None, "highest")}
    flop = 2 * 32 * 32 * 64
    assert by_precision == {None: {"tensor.tf32": flop}, "highest": {"tensor.fp32": flop}}


def test_complex_numbers_count_the_work_on_their_parts(priced_jax: Priced) -> None:
    pair = ("S((8, 64), jnp.complex64)", "S((64, 8), jnp.complex64)")
    assert priced_jax("fn = lambda a, b: a @ b", *pair).flop == {"tensor.fp32": 8 * 8 * 8 * 64}
    assert priced_jax("fn = lambda a, b: a * b.T", *pair).flop == {"vector.fp32": 6 * 8 * 64}
    spectrum = priced_jax("fn = jnp.fft.fft", "S((4, 1024), jnp.complex64)")
    most, fewest = 4 * 5 * 1024 * 10, 4 * (34 * 1024 * 10 // 9 - 124 * 1024 // 27 - 20)
    assert fewest - 9 <= spectrum.flop["vector.fp32"] <= min(most, fewest + 9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(3, 7), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(1, 2), st.integers(1, 2),
       st.sampled_from([(1, 1), (2, 1), (1, 2)]))
def test_a_convolution_multiplies_what_lies_inside(tmp_path: Path, size: int, kernel: int, stride: int, padding: int,
                                                   spread: int, dilation: int, groups: tuple[int, int]) -> None:
    reach = (size - 1) * spread + 1 + 2 * padding - (kernel - 1) * dilation
    if reach < 1:
        return
    of_features, of_batch = groups
    path = tmp_path / "model.py"
    path.write_text(
        "import jax\nfrom jax import lax\n"
        f"def fn(x, w):\n    return lax.conv_general_dilated(x, w, ({stride},), [({padding}, {padding})], "
        f"lhs_dilation=({spread},), rhs_dilation=({dilation},), feature_group_count={of_features}, "
        f"batch_group_count={of_batch})\n"
        f"def get_inputs():\n    return [jax.ShapeDtypeStruct((2, 4, {size}), 'float32'), "
        f"jax.ShapeDtypeStruct((4, {4 // of_features}, {kernel}), 'float32')]\n", encoding="utf-8")
    graph = capture(path)
    (node,) = [n for n in graph.nodes if n.op == "lax.conv_general_dilated"]
    windows = (reach - 1) // stride + 1
    inside = sum((at := w * stride + t * dilation - padding) % spread == 0 and 0 <= at <= (size - 1) * spread
                 for w, t in product(range(windows), range(kernel)))
    cost = work(graph, node)
    assert cost is not None
    assert cost.matrix_flop == 2 * (2 // of_batch) * 4 * (4 // of_features) * inside


@pytest.mark.parametrize(("body", "shapes", "moved"), [
    ("fn = lambda a: a[2:4]", ("(8, 64)",), 2 * 2 * 64),
    ("fn = lambda a: jnp.concatenate([a[:2], a[6:]])", ("(8, 64)",), 2 * 4 * 64),
    ("fn = lambda a: sum(jnp.split(a, 4))", ("(8, 64)",), 8 * 64 + 2 * 64),
    ("fn = lambda a: jnp.zeros((100, 100))", ("(8,)",), 100 * 100),
    ("fn = lambda a: jnp.broadcast_to(a, (10, 8)) * 2.0", ("(8,)",), 8 + 80),
    ("fn = lambda a: (a.T @ a.reshape(8, 64))", ("(8, 64)",), 8 * 64 + 64 * 64),
    ("fn = lambda a, b: a + 1.0", ("(8,)", "(100,)"), 16),
    ("fn = lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (1, 3), (1, 3), 'VALID')", ("(8, 64)",),
     8 * 63 + 8 * 21),
])
def test_fused_traffic_is_what_the_ends_need(body: str, shapes: tuple[str, ...], moved: int,
                                             priced_jax: Priced) -> None:
    assert priced_jax(body, *shapes).fused_bytes == 4 * moved


def test_collectives_know_their_peers_and_each_device_its_shard(graph_of_jax: Capture, priced_jax: Priced) -> None:
    body = ("from jax.sharding import AbstractMesh, PartitionSpec as P\n"
            "@jax.shard_map(mesh=AbstractMesh((8,), ('x',)), in_specs=(P(None, 'x'), P('x', None)), out_specs=P())\n"
            "def fn(a, b):\n    return lax.psum(a @ b, 'x')")
    shapes = ("(64, 512)", "(512, 64)")
    graph = graph_of_jax(body, *shapes)
    cost = work(graph, graph.nodes[-1])
    assert cost is not None and (cost.collective, cost.peers) == ("all_reduce", 8)
    made = priced_jax(body, *shapes)
    assert made.flop["tensor.tf32"] == 2 * 64 * 64 * 512 // 8
    assert made.fused_bytes == 4 * (2 * 64 * 64 + 64 * 64)


def test_what_no_rule_knows_is_named_and_costs_nothing(priced_jax: Priced) -> None:
    kernel = ("from jax.experimental import pallas as pl\ndef k(x, o):\n    o[...] = x[...] * 2\n"
              "fn = lambda a: pl.pallas_call(k, out_shape=S((8, 64), f32), interpret=True)(a) + 1.0")
    made = priced_jax(kernel, "(8, 64)")
    assert made.unmodelled == ("lax.pallas_call",) and made.flop == {"vector.fp32": 8 * 64}
    assert priced_jax("fn = lambda a: jnp.linalg.svd(a)[1]", "(8, 8)").unmodelled == ("lax.svd",)
