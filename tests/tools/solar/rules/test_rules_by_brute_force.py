"""Random small shapes: each rule against loops that do the work and count it."""

from collections.abc import Callable
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.solar.work import Work

Of = Callable[..., Work]
size = st.integers(1, 4)
quick = settings(max_examples=60, deadline=None)


def places(length: int, kernel: int, stride: int, padding: int, dilation: int) -> list[list[int]]:
    """By window, the positions inside that its taps read."""
    count = (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    return [[p for t in range(kernel) if 0 <= (p := w * stride - padding + t * dilation) < length]
            for w in range(count)]


@quick
@given(size, size, size, size)
def test_products(work_of: Of, batch: int, rows: int, inner: int, columns: int) -> None:
    counted = sum(2 for _ in product(range(batch), range(rows), range(inner), range(columns)))
    made = work_of("bmm", {"self": (batch, rows, inner), "mat2": (batch, inner, columns)}, [(batch, rows, columns)])
    assert made.matrix_flop + made.vector_flop == counted


@quick
@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.integers(3, 8), st.integers(1, 3),
       st.integers(1, 3), st.integers(0, 2), st.integers(1, 2), st.booleans())
def test_convolutions(work_of: Of, batch: int, made_each: int, read_each: int, groups: int, length: int, kernel: int,
                      stride: int, padding: int, dilation: int, turned: bool) -> None:
    if dilation * (kernel - 1) >= length or padding > dilation * (kernel - 1) // 2:
        return
    windows = places(length, kernel, stride, padding, dilation)
    flop, read = 0, set()
    for n, group, source, _ in product(range(batch), range(groups), range(read_each), range(made_each)):
        for window in windows:
            for position in window:
                flop += 2
                read.add((n, group, source, position))
    options = {"stride": [stride], "padding": [padding], "dilation": [dilation], "groups": groups}
    wide, narrow = (batch, groups * read_each, length), (batch, groups * made_each, len(windows))
    if turned:  # each input of the turned convolution is a window over its output
        made = work_of("conv_transpose1d", {"input": narrow, "weight": (groups * made_each, read_each, kernel)}, [wide],
                       options)
        assert made.matrix_flop == flop
        return
    made = work_of("conv1d", {"input": wide, "weight": (groups * made_each, read_each, kernel)}, [narrow], options)
    assert (made.matrix_flop, made.reads["input0"]) == (flop, len(read))


@quick
@given(size, st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_attention(work_of: Of, heads: int, queries: int, keys: int, causal: bool) -> None:
    flop = exponentials = 0
    for _, query, key in product(range(heads), range(queries), range(keys)):
        if not causal or key <= query:
            exponentials += 1
            flop += 2 * 8 + 2 * 5  # scores over a width of 8, values of a width of 5
    made = work_of("scaled_dot_product_attention", {
        "query": (1, heads, queries, 8), "key": (1, heads, keys, 8), "value": (1, heads, keys, 5)},
        [(1, heads, queries, 5)], {"is_causal": causal})
    assert (made.matrix_flop, made.special) == (flop, exponentials)


@quick
@given(st.lists(size, min_size=1, max_size=3), st.data())
def test_sums(work_of: Of, shape: list[int], data: st.DataObject) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    additions, sums = 0, set()
    for at in product(*map(range, shape)):
        place = at[:dim] + at[dim + 1:]
        additions += place in sums
        sums.add(place)
    out = tuple(n for i, n in enumerate(shape) if i != dim)
    made = work_of("sum", {"self": tuple(shape)}, [out], {"dim": [dim]})
    assert made.vector_flop == additions
    assert work_of("cumsum", {"self": tuple(shape)}, [tuple(shape)], {"dim": dim}).vector_flop == additions


@quick
@given(size, st.integers(1, 9), st.integers(1, 3), st.integers(1, 4))
def test_a_pool_needs_no_more_than_its_loops_do(work_of: Of, planes: int, length: int, kernel: int,
                                                stride: int) -> None:
    if kernel > length:
        return
    windows = places(length, kernel, stride, 0, 1)
    read = planes * len({p for window in windows for p in window})
    compared = planes * sum(len(window) - 1 for window in windows)
    made = work_of("max_pool1d", {"self": (1, planes, length)}, [(1, planes, len(windows))],
                   {"kernel_size": [kernel], "stride": [stride]})
    assert made.reads == {"self0": read} and made.vector_flop <= compared
    assert made.vector_flop == compared or stride < kernel  # windows that do not overlap share nothing


@quick
@given(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3), st.data())
def test_broadcast_elements_are_divided_by_as_many_reciprocals_as_differ(work_of: Of, shape: list[int],
                                                                         data: st.DataObject) -> None:
    other = tuple(data.draw(st.sampled_from([1, n])) for n in shape)
    divisors = {tuple(i * (m > 1) for i, m in zip(at, other, strict=True)) for at in product(*map(range, shape))}
    made = work_of("div", {"self": tuple(shape), "other": other}, [tuple(shape)])
    assert (made.special, made.vector_flop) == (len(divisors), len(list(product(*map(range, shape)))))


@quick
@given(st.integers(0, 6), st.integers(0, 6), st.one_of(st.none(), st.integers(0, 4)))
def test_causal_masks_at_the_bottom_right(queries: int, keys: int, left: int | None) -> None:
    from enlist.tools.solar.rules.extent import seen_pairs

    seen = sum(k <= q + keys - queries and (left is None or k >= q + keys - queries - left)
               for q, k in product(range(queries), range(keys)))
    assert seen_pairs(queries, keys, left) == seen
