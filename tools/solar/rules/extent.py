"""Counting the positions that sliding windows and triangles really touch, one dimension at a time.

Padding is not work: a kernel need not multiply by zeros that it invents. All counts are exact.
"""


def window_pairs(length: int, windows: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Pairs (window, tap) that fall inside 0..length-1, of `windows` windows with `kernel` taps each."""
    total = 0
    for tap in range(kernel):
        shift = padding - tap * dilation
        first, last = max(0, -(-shift // stride)), min(windows - 1, (length - 1 + shift) // stride)
        total += max(0, last - first + 1)
    return total


def window_touched(length: int, windows: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Different positions of 0..length-1 that some window reads."""
    touched = {w * stride - padding + tap * dilation for w in range(windows) for tap in range(kernel)}
    return sum(0 <= position < length for position in touched)


def causal_pairs(queries: int, keys: int) -> int:
    """Unmasked (query, key) pairs of a causal mask aligned at the top left: query i sees keys 0..i.

    This is the mask of `scaled_dot_product_attention(is_causal=True)`; for equal lengths L it is L(L+1)/2.
    """
    square = min(queries, keys)
    return square * (square + 1) // 2 + max(0, queries - keys) * keys


def triangle(rows: int, columns: int, diagonal: int, upper: bool) -> int:
    """Elements that `triu` (upper) or `tril` keeps of a rows x columns matrix."""
    below = sum(min(max(row + diagonal + (0 if upper else 1), 0), columns) for row in range(rows))
    return rows * columns - below if upper else below


def seen_pairs(queries: int, keys: int, left: int | None = None) -> int:
    """Unmasked pairs of a causal mask aligned at the bottom right: query i sees keys up to i + keys - queries, and of
    these the last `left` + 1 where a window is given."""
    total = 0
    for query in range(queries):
        last = query + keys - queries
        first = 0 if left is None else max(0, last - left)
        total += max(0, min(last, keys - 1) - first + 1)
    return total
