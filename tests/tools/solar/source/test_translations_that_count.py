"""A translation counts only when its outputs equal the source's; a wrong one is mended or refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool_conformance import check_tool
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.program import Program
from enlist.tools.solar.loops.tool import EQUALS, LIFT
from enlist.tools.solar.source.equality import Compared, compare
from enlist.tools.solar.source.translate import translate

PRODUCT = """program mm
size M = 64, N = 32, K = 16
input a: float32[M, K], b: float32[K, N]
output c: float32[M, N]
for i in 0..M { for j in 0..N { c[i, j] = 0 for k in 0..K { c[i, j] += a[i, k] * b[k, j] } } }"""
NUMPY = "def mm(a, b):\n    return a @ b\n"
C = """void mm(const float *a, const float *b, float *c, int M, int N, int K) {
  for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) { float s = 0;
    for (int k = 0; k < K; k++) s += a[i * K + k] * b[k * N + j]; c[i * N + j] = s; } }"""
MUTANTS = {"sign": ("+= a", "+= -a"), "scale": ("b[k, j] }", "b[k, j] * 1.0001 }"),
           "one column": ("b[k, j]", "b[k, 0]"),
           "zeros": ("a[i, k] *", "0 *"), "one term short": ("0..K", "0..K - 1"),
           "absolute": ("a[i, k]", "abs(a[i, k])")}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_equal_program_counts_on_several_shapes_and_inputs() -> None:
    found = compare(parse(PRODUCT), NUMPY, "numpy")
    assert found.equal and found.shapes >= 3 and found.inputs >= 9


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_program_does_not(mutant: str) -> None:
    found = compare(parse(PRODUCT.replace(*MUTANTS[mutant])), NUMPY, "numpy")
    assert not found.equal and "output c" in found.difference


def test_a_tiny_result_is_held_to_tiny_differences() -> None:
    """Zeros would pass for 1e-6 under a bare tolerance of 1e-2 (KernelBench issue 165)."""
    tiny = "program f\nsize N = 9\ninput a: float32[N]\noutput c: float32[N]\nfor i in 0..N { c[i] = 0 * a[i] }"
    assert not compare(parse(tiny), "def f(a):\n    return a * 1e-6\n", "numpy").equal


def test_c_is_compiled_and_compared() -> None:
    assert compare(parse(PRODUCT), C, "c").equal
    assert not compare(parse(PRODUCT), C.replace("k < K", "k < K - 1"), "c").equal


def test_what_cannot_run_here_needs_examples() -> None:
    with pytest.raises(EnlistError, match="cannot be run here") as caught:
        compare(parse(PRODUCT), "__global__ void mm() {}", "cuda")
    assert caught.value.code == "unsupported"
    one = parse(PRODUCT.replace("M = 64, N = 32, K = 16", "M = 1, N = 1, K = 2"))
    example = ({"a": np.array([[2.0, 3.0]]), "b": np.array([[5.0], [7.0]])}, {"c": np.array([[31.0]])})
    assert compare(one, "", "cuda", examples=[example]).equal
    assert not compare(one, "", "cuda", examples=[(example[0], {"c": np.array([[32.0]])})]).equal


def _says(*answers: str) -> tuple[list[str], Iterator[str]]:
    return [], iter(answers)


def _check(program: Program) -> Compared:
    return compare(program, NUMPY, "numpy")


def test_the_first_difference_goes_back_to_the_model() -> None:
    wrong = PRODUCT.replace("+= a", "+= -a")
    asked, answers = _says("no program", f"```\n{wrong}\n```", f"```loop\n{PRODUCT}\n```")

    def model(question: str, /) -> str:
        asked.append(question)
        return next(answers)
    made = translate(NUMPY, "numpy", model, _check)
    assert made.rounds == 3 and made.compared.equal and made.program == parse(PRODUCT)
    assert "line 1" in asked[1] and "the source's" in asked[2]


def test_what_never_equals_the_source_is_refused() -> None:
    with pytest.raises(EnlistError, match="no translation of source equalled") as caught:
        translate(NUMPY, "numpy", lambda question: PRODUCT.replace("+= a", "+= -a"), _check, rounds=2)
    assert caught.value.code == "invalid_output"


def test_without_a_model_the_way_by_hand_is_named() -> None:
    with pytest.raises(EnlistError, match=r"by hand as source\.loop.*loop-equals") as caught:
        translate(C, "c", None, _check)
    assert caught.value.code == "not_installed"


@pytest.mark.parametrize("source", [
    "def mm(a, b):\n    raise SystemExit(3)\n", "def mm(a):\n    return\n", "def mm(", ""])
def test_a_source_that_fails_is_told_from_a_wrong_translation(source: str) -> None:
    with pytest.raises(EnlistError) as caught:
        compare(parse(PRODUCT), source, "numpy")
    assert caught.value.code in ("tool_failed", "bad_input", "not_found")


@pytest.mark.parametrize("tool", [LIFT, EQUALS], ids=lambda t: t.name)
def test_the_tools_hold_the_contract(tool: object) -> None:
    check_tool(tool)  # type: ignore[arg-type]
