"""Generated programs: nests with moving bounds, guards, windows, strides and choices, always in bounds."""

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# The run that computes each value once is a module of the tests, which are no packages.
_spec = importlib.util.spec_from_file_location("memoised", Path(__file__).with_name("memoised.py"))
assert _spec and _spec.loader
_memoised = importlib.util.module_from_spec(_spec)
sys.modules["memoised"] = _memoised
_spec.loader.exec_module(_memoised)

_DEPTH = ("i", "j", "k")


def generated(seed: int) -> str:
    """The text of a valid program over two inputs and one output, small enough to run."""
    rng = random.Random(seed)
    sizes = {"N": rng.randint(2, 6), "M": rng.randint(2, 6), "K": rng.randint(1, 5)}
    low = rng.choice(["0", "0", "1"])
    inner = rng.choice(["0..M", "0..i + 1", "i..N + M", "max(0, i - 1)..min(M, i + 2)", "0..M step 2",
                        "M - 1..-1 step -1"])
    deep = rng.choice(["0..K", "0..j + 1", "max(i, j)..i + j + 1"])
    guard = rng.choice(["", "", "j <= i", "|i - j| <= 1", "(i + j) % 2 == 0", "i // 2 == j // 2",
                        "2 * i + k >= 3 and k <= j"])
    left = rng.choice(["a[i, j]", "a[i + k, j]", "a[k, i + j]", "a[2 * i, k]", "a[(i + j) // 2, k % 3]"])
    right = rng.choice(["b[j, k]", "b[k, j]", "b[i, k]", "a[j, k]", "b[j, k] + b[j + 1, k]"])
    value = rng.choice([f"{left} * {right}", f"exp({left}) / (2 + abs({right}))", f"max({left}, {right}) - 0.5",
                        f"select(j > i, {left}, sqrt(abs({right})))"])
    update = rng.choice(["+=", "max=", "+=", "min="])
    line = f"c[i, j] {update} {value}"
    line = f"if {guard} {{ {line} }}" if guard else line
    declared = "\n".join(f"size {n} = {v}" for n, v in sizes.items())
    return (f"program made\n{declared}\ninput a: float64[64, 64], b: float64[64, 64]\noutput c: float64[64, 64]\n"
            f"for i in {low}..N {{ for j in {inner} {{ c[i, j] = 1\n for k in {deep} {{ {line} }} }} }}\n")


@pytest.fixture
def program_text() -> Callable[[int], str]:
    """A generated program by its seed."""
    return generated
