"""NumPy outside of the subset is refused with the line and what to write instead; hostile text costs no time."""

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.lift import lift
from enlist.tools.solar.source.translate_numpy import translate_numpy

TURN = "    v = u.copy()\n    for t in range(3):\n"
SEVEN = "(1, 2, 3, 4, 5, 6, 7)"


@pytest.mark.parametrize(("body", "what"), [
    (f"{TURN}        v[0] = u[1]\n        u = v\n    return u", r"line 6.*u and v as names of one array.*copy"),
    (f"{TURN}        u = v\n        v[0] = 1.0\n    return u", r"line 5.*line 6 changes in place"),
    ("    b = u[1:]\n    b[0] = 5\n    return u", r"a change of the argument u under another name.*copy"),
    ("    return u[u > 0]", r"line 3.*by a mask.*where"), ("    return np.sort(u)", r"np\.sort"),
    ("    return np.argmax(u)", r"np\.argmax"), ("    return np.linalg.inv(u)", r"np\.linalg\.inv"),
    ("    for i in range(3):\n        x = u[i] * 2\n    return x", r"cannot express this as loops: line 4"),
    ("    for i in range(3):\n        pass\n    return u[i]", r"line 5.*the name i"),
    ("    while True:\n        pass", "while True"), ("    return [x for x in u]", "for x in u"),
    ("    s = 0.0\n    for i in range(3):\n        if u[i] > 0:\n            s += u[i]\n    return s",
     "a condition on data"),
    ("    for i in range(2):\n        u[i] = u[i * i]\n    return u", "affine"),
    ("    for i in range(2):\n        for j in range(2):\n            u[i * j] = 1\n    return u", "affine"),
    ("    return u + missing", r"line 3.*the name missing"), ("    return missing(u)", "missing"),
    ("    return u[50]", "goes above"), ("    return (lambda x: x)(u)", "line 3"), ("    return u[::0]", "step"),
    ("    return u[:4].reshape(2, 2).transpose(0, 0)", "does not order"), ("    return u * 1j", "complex"),
    (f"    for x in {SEVEN}:\n" + "".join(f"    {'    ' * n}for x{n} in {SEVEN}:\n" for n in range(1, 5))
     + " " * 24 + "u = u + 1\n    return u", "unrolls to over")])
def test_what_is_outside_of_the_subset_is_refused_precisely(body: str, what: str) -> None:
    with pytest.raises(EnlistError, match=what) as caught:
        translate_numpy(f"import numpy as np\ndef f(u):\n{body}\n", "f", "u=float64[7]")
    assert caught.value.code in ("unsupported", "bad_input") and caught.value.fix


@pytest.mark.parametrize("text", [
    "def f(u:\n return u", "def f(u):\n return u\0", "", "x = 3", "async def f(u):\n    return u",
    "def f(u):\n    return " + "-" * 5000 + "u",
    "def f(u):\n" + "".join(f"{' ' * (n + 4)}for i{n} in range(2):\n" for n in range(120)) + " " * 130 + "pass"],
    ids=["bracket", "NUL", "nothing", "no function", "async", "5000 signs", "120 loops"])
def test_text_that_is_no_function_is_refused(text: str) -> None:
    with pytest.raises(EnlistError):
        translate_numpy(text, None, "u=float64[7]")


@pytest.mark.parametrize("turns", [10**12, 10**30])
def test_a_loop_of_any_length_is_counted_and_not_run(turns: int) -> None:
    graph = lift(translate_numpy(f"def f(u):\n    s = 0.0\n    for i in range({turns}):\n        s += u[0] * i\n"
                                 "    return s\n", None, "u=float64[7]"))
    assert graph.nodes[-1].attributes["points"] >= turns  # type: ignore[operator]
