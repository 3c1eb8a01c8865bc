"""The calibration kernels of each roof of a CPU, as calls with the amount that they do.

Every roof has at least three plain ones where torch is installed: copies, sums and fills for memory, products of three
shapes per dtype, elementwise special functions; those of `native` beside them where there is a C compiler.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from enlist.tools.solar.hardware.native import REGISTER_KERNELS, Native

_PAGE = 4096
_PARTS = 8
_LAUNCHES = 500
LAUNCH = "launch"
_MATRIX = {"vector.fp32": "float32", "vector.fp64": "float64", "tensor.bf16": "bfloat16", "tensor.fp16": "float16"}
_ROWS = 1 << 14  # elements of a special-function array: 64 KiB, which the caches next to the core hold
_FIRST_REPETITIONS = 1000


@dataclass(frozen=True)
class Kernel:
    """A call that does `amount` operations, or moves `amount` bytes, of `roof`."""

    roof: str
    name: str
    amount: float
    call: Callable[[], object]


@dataclass(frozen=True)
class Buffers:
    """Two arrays of `size` bytes, touched and page-aligned, as memory kernels of every library see them."""

    size: int
    arrays: tuple[Any, Any]

    @staticmethod
    def of(size: int) -> "Buffers":
        return Buffers(size, (_aligned(size), _aligned(size)))

    def addresses(self) -> tuple[int, int]:
        return self.arrays[0].ctypes.data, self.arrays[1].ctypes.data

    def parts(self, count: int) -> list["Buffers"]:
        """`count` equal parts, one after the other."""
        size = self.size // count // _PAGE * _PAGE
        return [Buffers(size, (self.arrays[0][i * size // 4:(i + 1) * size // 4],
                               self.arrays[1][i * size // 4:(i + 1) * size // 4])) for i in range(count)]


def memory_kernels(roof: str, buffers: Buffers, native: Native | None, repeats: int) -> Iterator[Kernel]:
    """Reads, copies and fills of the buffers, `repeats` times a call; a copy counts what it reads and writes."""
    size, (a, b) = buffers.size, buffers.arrays

    def times(call: Callable[[], object]) -> Callable[[], None]:
        def repeated() -> None:
            for _ in range(repeats):
                call()

        return repeated

    moved = float(size * repeats)
    yield Kernel(roof, "numpy copy", 2 * moved, times(lambda: np.copyto(b, a)))
    if native is not None:
        first, second = buffers.addresses()
        part = size // native.threads // _PAGE * _PAGE * native.threads * repeats
        yield Kernel(roof, "C sum", part, times(native.over("sum_read", [first], size)))
        if roof == "dram":  # these pass the caches by
            yield Kernel(roof, "C copy", 2 * part, times(native.over("stream_copy", [second, first], size)))
            yield Kernel(roof, "C fill", part, times(native.over("stream_fill", [second], size)))
    torch = _torch()
    if torch is not None:
        x, y = torch.from_numpy(a), torch.from_numpy(b)
        yield Kernel(roof, "torch copy", 2 * moved, times(lambda: y.copy_(x)))
        yield Kernel(roof, "torch sum", moved, times(lambda: x.sum()))
        yield Kernel(roof, "torch fill", moved, times(lambda: y.fill_(1.0)))


def dram_kernels(buffers: Buffers, native: Native | None) -> Iterator[Kernel]:
    """Memory kernels that go through the buffers part by part, one part a call: short, and no part is in a cache when
    its turn comes again."""
    alike = zip(*(list(memory_kernels("dram", part, native, 1)) for part in buffers.parts(_PARTS)), strict=True)
    for kernels in alike:
        yield Kernel("dram", kernels[0].name, kernels[0].amount, _in_turn([k.call for k in kernels]))


def _in_turn(calls: list[Callable[[], object]]) -> Callable[[], object]:
    """One call after the other, from the start again after the last."""
    turn = itertools.cycle(calls)
    return lambda: next(turn)()


def compute_kernels(native: Native | None, size: int) -> Iterator[Kernel]:
    """Multiply-adds by dtype and special functions; `size` is that of the square products."""
    if native is not None:
        for name, (roof, function, amount) in REGISTER_KERNELS.items():
            each = native.per_repetition(amount)
            if each:
                reps = max(_FIRST_REPETITIONS, size**3 // each)
                yield Kernel(roof, name, float(each * reps * native.threads), native.repeated(function, reps))
    torch = _torch()
    if torch is None:
        return
    for roof, dtype in _MATRIX.items():
        yield from _products(torch, roof, getattr(torch, dtype), size if roof != "tensor.fp16" else size // 4)
    whole = torch.ones(size, size, dtype=torch.int8)
    tall = torch.ones(2 * size, size, dtype=torch.int8)
    yield Kernel("tensor.int8", "torch int8 product", 2.0 * size**3, lambda: torch._int_mm(whole, whole))
    yield Kernel("tensor.int8", "torch tall int8 product", 4.0 * size**3, lambda: torch._int_mm(tall, whole))
    x, y = torch.rand(_ROWS) + 1, torch.empty(_ROWS)
    for name in ("exp", "rsqrt", "reciprocal", "tanh", "log"):
        yield _special(torch, name, x, y)
    yield _launches(torch)


def _special(torch: Any, name: str, x: Any, y: Any) -> Kernel:
    function, repeats = getattr(torch, name), 64

    def call() -> None:
        for _ in range(repeats):
            function(x, out=y)

    return Kernel("special", f"torch {name}", float(repeats * _ROWS), call)


def _launches(torch: Any) -> Kernel:
    """Calls of an operator on one element: what an operator costs beside its work."""
    one = torch.ones(1)

    def call() -> None:
        for _ in range(_LAUNCHES):
            one.add_(1.0)

    return Kernel(LAUNCH, "torch operator on one element", float(_LAUNCHES), call)


def _products(torch: Any, roof: str, dtype: Any, n: int) -> Iterator[Kernel]:
    a = torch.rand(n, n).to(dtype)
    out, wide = torch.empty_like(a), torch.rand(2 * n, n).to(dtype)
    many = torch.rand(4, n // 2, n // 2).to(dtype)
    yield Kernel(roof, f"torch product {dtype}", 2.0 * n**3, lambda: torch.mm(a, a, out=out))
    yield Kernel(roof, f"torch wide product {dtype}", 4.0 * n**3, lambda: wide @ a)
    yield Kernel(roof, f"torch batched product {dtype}", 2.0 * 4 * (n // 2) ** 3, lambda: torch.bmm(many, many))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _aligned(size: int) -> Any:
    raw = np.zeros(size // 4 + _PAGE // 4, dtype=np.float32)
    skip = -int(raw.ctypes.data) % _PAGE // 4
    part = raw[skip:skip + size // 4]
    part.fill(1.0)  # so that the pages exist
    return part
