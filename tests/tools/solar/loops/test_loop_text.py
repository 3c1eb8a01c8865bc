"""Programs as text: what is printed reads back the same, and faults name the line and the column."""

from collections.abc import Callable

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.printer import show
from enlist.tools.solar.loops.validate import validate

HEAD = "program p\nsize N = 4\ninput a: float32[N], ids: int64[N], f: float32[N]\noutput c: float32[N]\n"


@pytest.mark.parametrize("seed", range(25))
def test_what_is_printed_reads_back_the_same(program_text: Callable[[int], str], seed: int) -> None:
    program = parse(program_text(seed))
    assert parse(show(program)) == program


@pytest.mark.parametrize("value", [
    "a[0] - (a[1] - a[2])", "-(a[0] + 1) * 2", "(a[0] < 1) == (a[1] < 2)", "1e-30 * -inf",
    "not (a[0] > 1 and a[1] > 1 or a[2] > 1)", "select(a[0] > 0, 1, 0) % 3 // 2"])
def test_brackets_are_kept_where_they_matter(value: str) -> None:
    program = parse(HEAD + f"c[0] = {value}")
    assert parse(show(program)) == program


@pytest.mark.parametrize(("text", "where"), [
    ("for i in 0..N { c[i] = a[i] ", "line 5, column 29"), ("c[0] = a[0] +", "line 5, column 14"),
    ("c[0] = cosh(a[0])", "line 5, column 8"), ("c[0] := 1", "line 5, column 6"), ("c[0] = ?", "line 5, column 8"),
    ("for i in 0..N step 0 { c[i] = 1 }", "line 5, column 20"), ("c[0] = select(1, 2)", "line 5, column 19"),
    ("c[0] = " + "(" * 500, "line 5"), ("c[0] = " + "9" * 400, "line 5, column 8"), ("output d: float33[N]", "line 5")])
def test_a_fault_of_the_text_names_its_place(text: str, where: str) -> None:
    with pytest.raises(EnlistError, match=where) as caught:
        parse(HEAD + text)
    assert caught.value.code == "bad_input"


@pytest.mark.parametrize(("body", "what"), [
    ("for i in 0..N + 1 { c[i] = 1 }", "index 0 of c\\[i\\] goes above 3"),
    ("for i in 0..N { c[i] = a[i - 1] }", "goes below 0"),
    ("for i in 0..N { c[i] = select(i > 1, a[i - 1], a[i + 1 + 1]) } ", "^$"),
    ("for i in 0..N { c[i] = d[i] }", "no tensor d"), ("for i in 0..N { c[i, 0] = 1 }", "has 2 indices"),
    ("for i in 0..N { a[i] = 1 c[i] = 1 }", "is an input"), ("for i in 0..N { c[i] += a[i] }", "before it has a value"),
    ("for i in 0..a[0] { c[i] = 1 }", "must be affine"), ("for i in 0..N { c[f[i]] = 1 }", "is an index but float32"),
    ("for i in 0..N { for j in 0..N { c[i] = a[j] } }", "assigns the same element in several turns"),
    ("for i in 0..N { if a[i] > 0 { c[i] = 1 } }", "must be affine|guard"), ("", "never assigned"),
    ("for N in 0..N { c[N] = 1 }", "name of a size"), ("for i in 0..N { c[i] = q }", "q is neither"),
    ("for i in 0..N { for j in 0..N { if i == j and 2 * i == 5 { c[i + 9] = 1 } } } c[0] = 1", "^$")])
def test_a_program_that_cannot_be_meant_is_refused(body: str, what: str) -> None:
    program = parse(HEAD + body)
    if what == "^$":
        validate(program)
        return
    with pytest.raises(EnlistError, match=what):
        validate(program)
