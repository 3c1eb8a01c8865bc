"""Programs written by hand, from the file to the bounds: FLOP and bytes are those of closed forms."""

from math import comb
from pathlib import Path

import pytest

from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.loops.capture import capture_loops
from enlist.tools.solar.report.analysis import Question, analyse, entry

N, W = 512, 8
PAGE = Path(__file__).parents[4] / "docs" / "loop-ir.md"
FILES = {
    "matmul": ("size M = 64, N = 32, K = 16\ninput a: float16[M, K], b: float16[K, N]\noutput c: float16[M, N]\n"
               "temp s: float32[]\nfor i in 0..M { for j in 0..N { s[] = 0 for k in 0..K { s[] += float32(a[i, k]) * "
               "float32(b[k, j]) } c[i, j] = float16(s[]) } }"),
    "triangular": (f"size N = {N}\ninput a: float32[N, N], b: float32[N, N]\noutput c: float32[N, N]\n"
                   "for i in 0..N { for j in 0..i + 1 { c[i, j] = 0 for k in j..i + 1 { c[i, j] += a[i, k] * b[k, j] "
                   "} } }"),
    "band": (f"size N = {N}, W = {W}\ninput a: float32[N, N], x: float32[N]\noutput y: float32[N]\nfor i in 0..N {{ "
             "y[i] = 0 for j in max(0, i - W)..min(N, i + W + 1) { y[i] += a[i, j] * x[j] } }"),
    "gather": ("size T = 12, V = 5000, D = 64\ninput ids: int64[T], e: float32[V, D]\noutput y: float32[T, D]\n"
               "for t in 0..T { for d in 0..D { y[t, d] = e[ids[t], d] } }"),
    "stencil": (f"size N = {N}\ninput x: float32[N, N]\noutput y: float32[N, N]\n"
                "for i in 1..N - 1 { for j in 1..N - 1 { "
                "y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) } }"),
    "scan": (f"size N = {N}\ninput x: float32[N]\noutput y: float32[N]\ny[0] = x[0]\n"
             "for i in 1..N { y[i] = y[i - 1] + x[i] }"),
    "attention": PAGE.read_text().split("program attention\n")[1].split("```")[0].replace("N = 1024", f"N = {N}"),
}
PAIRS, DEEP = N * (N + 1) // 2, 64
FLOP = {"matmul": 2 * 64 * 32 * 16, "triangular": 2 * comb(N + 2, 3), "band": 2 * (N * (2 * W + 1) - W * (W + 1)),
        "gather": 0, "stencil": 4 * (N - 2) ** 2, "scan": N - 1, "attention": 4 * DEEP * PAIRS + 3 * PAIRS}
"""Of causal attention: two products of one half, and the maximum, the difference and the sum of each pair."""
BYTES = {"matmul": 2 * (64 * 16 + 16 * 32 + 64 * 32), "triangular": 3 * 4 * PAIRS,
         "band": 4 * (N * (2 * W + 1) - W * (W + 1) + 2 * N), "gather": 8 * 12 + 4 * (64 + 12 * 64),
         "stencil": 4 * (N * N - 4 + (N - 2) ** 2), "scan": 4 * (2 * N - 1), "attention": (3 * 2 + 4) * N * DEEP}
"""Inputs and outputs once: of a table that is gathered from one row is sure; a scan's first element is left out."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_bounded_by_its_closed_forms(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.loop"
    path.write_text(f"program {name}\n{FILES[name]}")
    found = entry(analyse(capture_loops(path), Question(tuple(resolve(["H100 SXM"])))))
    assert found["flop"]["total"] == FLOP[name] and found["bytes"]["fused"] == BYTES[name]
    assert 0 < found["bounds"]["fused_s"] <= found["bounds"]["cache_aware_s"] <= found["bounds"]["unfused_s"]
    assert found["coverage"] == {"ops": 1, "flop": 1, "bytes": 1} and not found["unmodelled"]
