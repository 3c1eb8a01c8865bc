"""What counts as the same: every element that a source writes, what it changes in place, nothing that it does not."""

from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.source.equality import compare

HEAD = "program f\nsize N = 9\n"
SCALE = "void f(const float *x, float *y, int N) { for (int i = 0; i < N; i++) y[i] = 2 * x[i]; }"
PLAIN = "input x: float32[N]\noutput y: float32[N]\n"
GROWN = "void f(float *x, int N) { for (int i = 1; i < N; i++) x[i] += x[i - 1]; }"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("bounds", ["0..N - 1", "1..N", "0..N step 2"])
@pytest.mark.parametrize(("language", "source"), [("c", SCALE), ("numpy", "def f(x):\n    return 2 * x\n")])
def test_elements_that_a_program_leaves_out_are_a_difference(bounds: str, language: str, source: str) -> None:
    program = parse(HEAD + PLAIN + f"for i in {bounds} {{ y[i] = 2 * x[i] }}")
    found = compare(program, source, language)
    assert not found.equal and "written by the source" in found.difference


def test_elements_that_only_the_program_writes_are_a_difference() -> None:
    half = SCALE.replace("i < N", "2 * i < N")
    assert "written by the program" in compare(parse(HEAD + PLAIN + "for i in 0..N { y[i] = 2 * x[i] }"), half,
                                               "c").difference
    assert compare(parse(HEAD + PLAIN + "for i in 0..(N + 1) // 2 { y[i] = 2 * x[i] }"), half, "c").equal


@pytest.mark.parametrize(("language", "source"), [
    ("c", GROWN), ("numpy", "def f(x, N):\n    for i in range(1, N):\n        x[i] += x[i - 1]\n")])
def test_what_is_changed_in_place_is_an_input_and_an_output(language: str, source: str) -> None:
    right = parse(HEAD + "input x: float32[N]\noutput x_out: float32[N]\nx_out[0] = x[0]\n"
                         "for i in 1..N { x_out[i] = x_out[i - 1] + x[i] }")
    assert compare(right, source, language).equal
    unseen = parse(HEAD + "input x: float32[N]\noutput y: float32[N]\nfor i in 0..N { y[i] = x[i] }")
    with pytest.raises(EnlistError, match=r"y|writes to x"):
        compare(unseen, source, language)


def test_an_output_that_is_dropped_is_no_translation() -> None:
    two = "void f(const float *x, float *y, float *z, int N) { for (int i = 0; i < N; i++) y[i] = z[i] = x[i]; }"
    with pytest.raises(EnlistError, match="neither a tensor nor a size"):
        compare(parse(HEAD + PLAIN + "for i in 0..N { y[i] = x[i] }"), two, "c")
    with pytest.raises(EnlistError, match="writes to z"):
        compare(parse(HEAD + "input x: float32[N], z: float32[N]\noutput y: float32[N]\nfor i in 0..N { y[i] = x[i] }"),
                two, "c")


def test_a_source_that_adds_to_what_an_output_held_is_told_so() -> None:
    adds = SCALE.replace("y[i] =", "y[i] +=")
    with pytest.raises(EnlistError, match="reads y before it writes it"):
        compare(parse(HEAD + PLAIN + "for i in 0..N { y[i] = 2 * x[i] }"), adds, "c")
    both = parse(HEAD + "input x: float32[N], y: float32[N]\noutput y_out: float32[N]\n"
                        "for i in 0..N { y_out[i] = y[i] + 2 * x[i] }")
    assert compare(both, adds, "c").equal


def test_a_single_number_is_a_tensor_without_dimensions_and_shapes_are_named() -> None:
    axpy = "void f(float a, const float *x, float *y, int N) { for (int i = 0; i < N; i++) y[i] = a * x[i]; }"
    found = compare(parse(HEAD + "input a: float32[], x: float32[N]\noutput y: float32[N]\n"
                                 "for i in 0..N { y[i] = a[] * x[i] }"), axpy, "c")
    assert found.equal and len(set(found.at)) == found.shapes >= 3 and all(a.startswith("N=") for a in found.at)
