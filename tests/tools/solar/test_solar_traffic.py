"""Elements addressed and pairs counted, against enumeration."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.extent import causal_pairs, triangle, window_pairs, window_touched

small = st.integers(0, 7)
dimension = st.tuples(st.integers(0, 4), st.integers(0, 9))


@given(st.lists(dimension, max_size=4))
def test_distinct_never_exceeds_the_elements_that_are_addressed(dimensions: list[tuple[int, int]]) -> None:
    tensor = Tensor(id="t", shape=tuple(n for n, _ in dimensions), strides=tuple(s for _, s in dimensions),
                    dtype="float32", role="input")
    addressed = {sum(i * s for i, (_, s) in zip(at, dimensions, strict=True))
                 for at in product(*(range(n) for n, _ in dimensions))}
    assert tensor.distinct <= len(addressed)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms())
def test_distinct_is_exact_for_permuted_and_expanded_tensors(shape: list[int], random) -> None:
    strides, span = [], 1
    for size in shape:
        strides.append(span)
        span *= size
    order = random.sample(range(len(shape)), len(shape))
    tensor = Tensor(id="t", shape=(*(shape[i] for i in order), 5), strides=(*(strides[i] for i in order), 0),
                    dtype="float32", role="input")
    assert tensor.distinct == span


@given(small, small, st.integers(1, 4), st.integers(1, 3), small, st.integers(1, 3))
def test_windows_touch_what_enumeration_finds(length: int, windows: int, kernel: int, stride: int, padding: int,
                                              dilation: int) -> None:
    inside = [p for w in range(windows) for t in range(kernel)
              if 0 <= (p := w * stride - padding + t * dilation) < length]
    arguments = (length, windows, kernel, stride, padding, dilation)
    assert (window_pairs(*arguments), window_touched(*arguments)) == (len(inside), len(set(inside)))


@given(small, small, st.integers(-8, 8), st.booleans())
def test_a_triangle_keeps_what_enumeration_finds(rows: int, columns: int, diagonal: int, upper: bool) -> None:
    kept = sum((j - i >= diagonal) if upper else (j - i <= diagonal) for i in range(rows) for j in range(columns))
    assert triangle(rows, columns, diagonal, upper) == kept


@given(small, small)
def test_causal_pairs_are_those_at_or_below_the_diagonal(queries: int, keys: int) -> None:
    assert causal_pairs(queries, keys) == sum(j <= i for i in range(queries) for j in range(keys))
