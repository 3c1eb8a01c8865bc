"""What a translation is tried on: several shapes, small, odd and unequal; values negative, large, zero.

The tolerance comes from the dtype and the longest reduction: eps * (8 + n) * the largest value of the output (the
forward error of a sum of n terms, Higham, Accuracy and Stability of Numerical Algorithms, 4.2). Never a bare constant:
an output of tiny numbers is held to tiny differences.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import shapes, size_values
from enlist.tools.solar.loops.interpreter import Counts, stored_dtype
from enlist.tools.solar.loops.program import Access, Num, Program, Size, accesses, assigns, read_by
from enlist.tools.solar.loops.types import FLOATS
from enlist.tools.solar.loops.validate import validate

_SIZES = ((5, 3, 7, 4, 6, 2), (3, 5, 2, 7, 1, 4), (7, 4, 5, 3, 2, 6), (8, 8, 8, 8, 8, 8), (1, 2, 3, 5, 7, 9))
VALUES = ("normal", "large", "zero", "positive")
_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
            "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2}
FEWEST_SHAPES = 2


def resized_programs(program: Program, wanted: int = 3) -> list[Program]:
    """The program at several small values of its free sizes; itself alone where it has none.

    Sizes that are given as expressions of others follow. Shapes at which the program is not valid are left out.
    """
    free = [s for s in program.sizes if isinstance(s.value, Num)]
    if not free:
        return [program]
    found: list[Program] = []
    for values in _SIZES:
        chosen = {s.name: values[n % len(values)] for n, s in enumerate(free)}
        made = replace(program, sizes=tuple(Size(s.name, Num(chosen[s.name])) if s.name in chosen else s
                                            for s in program.sizes))
        try:
            validate(made)
        except EnlistError:
            continue
        found.append(made)
        if len(found) == wanted:
            break
    return found or [program]


def random_inputs(program: Program, values: str, seed: int) -> dict[str, np.ndarray]:
    """An array for every input; integers that are used as indices stay within what they index."""
    rng = np.random.default_rng(seed)
    sizes = shapes(program, size_values(program))
    limits = _index_limits(program, sizes)
    made = {}
    for tensor in program.with_role("input"):
        shape = sizes[tensor.name]
        if tensor.dtype not in FLOATS:
            low, high = (0, max(1, limits[tensor.name])) if tensor.name in limits else (
                0 if tensor.dtype in ("bool", "uint8") else -5, 2 if tensor.dtype == "bool" else 6)
            made[tensor.name] = rng.integers(low, high, shape).astype(tensor.dtype)
            continue
        drawn = rng.standard_normal(shape)
        drawn = {"large": drawn * 50, "zero": np.zeros(shape), "positive": np.abs(drawn) + 0.5}.get(values, drawn)
        made[tensor.name] = drawn.astype(stored_dtype(tensor.dtype))
    return made


def _index_limits(program: Program, sizes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    limits: dict[str, int] = {}
    for access in _all_accesses(program):
        for axis, index in enumerate(access.indices):
            for inner in accesses(index):
                size = sizes[access.tensor][axis]
                limits[inner.tensor] = min(limits.get(inner.tensor, size), size)
    return limits


def _all_accesses(program: Program) -> Iterator[Access]:
    for one in assigns(program.body):
        yield one.target
        yield from read_by(one)


def tolerance(dtype: str, counts: Counts, size: int, right: np.ndarray) -> float:
    """The largest difference that rounding explains for one output."""
    if dtype not in FLOATS:
        return 0.0
    finite = np.abs(right[np.isfinite(right)].astype(np.float64))
    longest = counts.points / max(1, size)
    return _EPSILON[dtype] * (8 + longest) * float(finite.max(initial=0.0))


def mismatch(name: str, dtype: str, counts: Counts, got: np.ndarray, right: np.ndarray, written: np.ndarray) -> str:
    """The first difference in words, "" where there is none."""
    if got.shape != right.shape:
        return f"output {name} has shape {list(got.shape)}, the source's {list(right.shape)}"
    a, b = got.astype(np.float64)[written], np.asarray(right).astype(np.float64)[written]
    allowed = tolerance(dtype, counts, got.size, np.asarray(right, dtype=np.float64))
    with np.errstate(all="ignore"):
        same = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return ""
    place = np.argwhere(written)[int(np.argmin(same))]
    at = ", ".join(map(str, place))
    return (f"output {name}[{at}] is {got[tuple(place)]!s}, the source's {np.asarray(right)[tuple(place)]!s} "
            f"(allowed difference {allowed:.3g})")
