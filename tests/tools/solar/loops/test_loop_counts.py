"""Counts of `lift`: closed forms at any size, and the interpreter's brute force on generated programs."""

import json
from collections.abc import Callable
from math import comb

import numpy as np
import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.loops.interpreter import run
from enlist.tools.solar.loops.lift import lift
from enlist.tools.solar.loops.parser import parse

PRODUCT = ("input a: float32[N, N], b: float32[N, N]\noutput c: float32[N, N]\nfor i in 0..N {{ for j in {j} {{ "
           "c[i, j] = 0\n for k in {k} {{ c[i, j] += a[i, k] * b[k, j] }} }} }}")


def total(graph: Graph, what: str) -> int:
    return sum(int(n.attributes[what]) for n in graph.nodes)  # type: ignore[arg-type]


def lifted(body: str, **sizes: int) -> Graph:
    return lift(parse("program p\n" + "".join(f"size {n} = {v}\n" for n, v in sizes.items()) + body))


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(n, marks=pytest.mark.slow) for n in range(15, 400))])
def test_counts_equal_those_of_a_run(program_text: Callable[[int], str], seed: int) -> None:
    program = parse(program_text(seed))
    graph = lift(program)
    rng = np.random.default_rng(seed)
    counts = run(program, {n: rng.standard_normal((64, 64)) for n in "ab"}).counts
    (node,) = graph.nodes
    assert node.attributes["points"] == counts.points
    assert node.attributes["as_written_flop"] == counts.flop
    assert node.attributes["as_written_special"] == counts.special
    assert node.attributes["writes"] == counts.written["c"]
    read = dict(zip(node.inputs, node.attributes["reads"], strict=True))  # type: ignore[arg-type]
    assert {n: read.get(n, 0) for n in "ab"} == {n: counts.read[n] for n in "ab"}
    needed = sum(int(node.attributes[w]) for w in ("matrix_flop", "vector_flop"))  # type: ignore[arg-type]
    assert needed <= counts.flop and int(node.attributes["special"]) <= counts.special  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [7, 100_000])
@pytest.mark.parametrize(("j", "k", "products"), [
    ("0..N", "0..N", lambda n: n**3), ("0..i + 1", "0..N", lambda n: n * n * (n + 1) // 2),
    ("0..i + 1", "j..i + 1", lambda n: comb(n + 2, 3)),  # lower times lower
    ("max(0, i - 2)..min(N, i + 3)", "0..1", lambda n: 5 * n - 6)])
def test_products_are_counted_in_closed_form(j: str, k: str, products: Callable[[int], int], n: int) -> None:
    assert total(lifted(PRODUCT.format(j=j, k=k), N=n), "matrix_flop") == 2 * products(n)


def test_a_triangle_is_read_and_written_as_a_triangle() -> None:
    n = 10_000
    graph = lifted(PRODUCT.format(j="0..i + 1", k="j..i + 1"), N=n)
    half = n * (n + 1) // 2
    assert graph.nodes[0].attributes["reads"] == [half, half] and graph.nodes[0].attributes["writes"] == half
    assert graph.by_id["c"].elements == half  # nobody has to write the other half


@pytest.mark.parametrize(("length", "taps", "stride"), [(11, 3, 1), (100_000, 5, 3), (12, 2, 4)])
def test_a_convolution_reads_what_its_windows_touch(length: int, taps: int, stride: int) -> None:
    windows = (length - taps) // stride + 1
    graph = lifted("input x: float32[L], w: float32[K]\noutput y: float32[W]\nfor i in 0..W { y[i] = 0\n for k in 0..K "
                   f"{{ y[i] += x[{stride} * i + k] * w[k] }} }}", L=length, K=taps, W=windows)
    (node,) = graph.nodes
    touched = len({w * stride + k for w in range(windows) for k in range(taps)})
    assert (node.attributes["matrix_flop"], node.attributes["reads"]) == (2 * windows * taps, [touched, taps])


def test_a_stencil_reads_each_point_once() -> None:
    n = 5000
    graph = lifted("input x: float32[N, N]\noutput y: float32[N, N]\nfor i in 1..N - 1 { for j in 1..N - 1 { y[i, j] = "
                   "x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] } }", N=n)
    assert graph.nodes[0].attributes["reads"] == [n * n - 4]  # all but the corners
    assert total(graph, "vector_flop") == 4 * (n - 2) ** 2


def test_a_prefix_sum_adds_once_for_each_element_and_is_one_scan() -> None:
    graph = lifted("input x: float64[N]\noutput y: float64[N]\ny[0] = x[0]\nfor i in 1..N { y[i] = y[i - 1] + x[i] }",
                   N=100_000)
    assert [n.op for n in graph.nodes] == ["loop.copy", "loop.scan"] and total(graph, "vector_flop") == 99_999


def test_what_a_loop_does_not_change_is_computed_once() -> None:
    graph = lifted("input a: float32[N], b: float32[N]\noutput c: float32[N, N]\nfor i in 0..N { for j in 0..N { "
                   "c[i, j] = exp(a[i]) * b[j] / a[i] } }", N=100)
    assert total(graph, "as_written_special") == 2 * 100**2 and total(graph, "special") == 2 * 100


def test_a_product_of_three_is_charged_in_its_cheapest_order() -> None:
    graph = lifted("input a: float32[N, 2], b: float32[2, N], c: float32[N, 3]\noutput d: float32[N, 3]\n"
                   "for i in 0..N { for l in 0..3 { d[i, l] = 0\n for j in 0..2 { for k in 0..N { "
                   "d[i, l] += a[i, j] * b[j, k] * c[k, l] } } } }", N=50)
    assert total(graph, "matrix_flop") == 2 * 2 * 50 * 3 * 2  # b c first, then a


def test_rows_that_ids_choose_are_likely_different_and_one_is_sure() -> None:
    graph = lifted("input ids: int64[T], e: float32[V, D]\noutput y: float32[T, D]\nfor t in 0..T { for d in 0..D { "
                   "y[t, d] = e[ids[t], d] } }", T=12, V=50_000, D=64)
    (node,) = graph.nodes
    assert node.attributes["reads"] == [12, 12 * 64] and node.attributes["surely"] == [12, 64]


def test_a_private_temporary_does_not_make_a_loop_sequential() -> None:
    graph = lifted("input a: float32[N, N], b: float32[N, N]\ntemp s: float32[]\n"
                   "output c: float32[N, N]\n"
                   "for i in 0..N { for j in 0..N { s[] = 0\n for k in 0..N { s[] += a[i, k] * b[k, j] }\n "
                   "c[i, j] = s[] } }", N=64)
    assert total(graph, "matrix_flop") == 2 * 64**3 and all(n.attributes["launches"] == 1 for n in graph.nodes)


def test_a_recurrence_over_time_counts_every_turn() -> None:
    graph = lifted("input x: float32[T, H], w: float32[H, H]\ntemp h: float32[H], a: float32[H]\n"
                   "output y: float32[T, H]\nfor i in 0..H { h[i] = 0 }\nfor t in 0..T { for i in 0..H { "
                   "a[i] = x[t, i]\n for j in 0..H { a[i] += w[i, j] * h[j] } }\n "
                   "for i in 0..H { h[i] = tanh(a[i])\n y[t, i] = h[i] } }", T=100, H=64)
    assert total(graph, "matrix_flop") == 2 * 100 * 64 * 64 and total(graph, "special") == 100 * 64
    assert graph.nodes[1].attributes["launches"] == 100


def test_a_graph_survives_json() -> None:
    graph = lifted(PRODUCT.format(j="0..N", k="0..N"), N=5)
    assert Graph.model_validate(json.loads(graph.model_dump_json(exclude_defaults=True))) == graph


def test_dead_statements_are_left_out() -> None:
    graph = lifted("input a: float32[N]\ntemp t: float32[N]\noutput c: float32[N]\n"
                   "for i in 0..N { t[i] = exp(a[i])\n c[i] = a[i] }", N=9)
    assert [n.op for n in graph.nodes] == ["loop.copy"]


@pytest.mark.parametrize(("guard", "points"), [
    ("(i + j) % 7 == 0", lambda n: sum(n // 7 + (r < n % 7) for r in ((-i) % 7 for i in range(n)))),
    ("2 * i <= 3 * j and 3 * j <= 2 * i + 5",
     lambda n: sum(max(0, min(n - 1, (2 * i + 5) // 3) - -(-2 * i // 3) + 1) for i in range(n))),
    ("|i - j| <= 3", lambda n: 7 * n - 12)])
def test_guards_are_counted_exactly_at_large_sizes(guard: str, points: Callable[[int], int]) -> None:
    graph = lifted(f"input a: float32[N, N]\noutput c: float32[N, N]\nfor i in 0..N {{ for j in 0..N {{ if {guard} {{ "
                   "c[i, j] = a[i, j] } } }", N=20_011)
    assert graph.nodes[0].attributes["reads"] == [points(20_011)] and graph.by_id["c"].elements == points(20_011)


def test_a_chain_of_triangular_products_is_not_charged_in_its_written_order() -> None:
    """Written, n^4 / 24 points; by two products in turn, n^3 / 6 points each."""
    n = 200
    graph = lifted("input a: float32[N, N]\noutput c: float32[N, N]\nfor i in 0..N { for j in i..N { c[i, j] = 0\n "
                   "for k in i..j + 1 { for l in k..j + 1 { c[i, j] += a[i, k] * a[k, l] * a[l, j] } } } }", N=n)
    assert total(graph, "matrix_flop") <= 2 * 2 * comb(n + 2, 3)
