"""Amounts as people read them: four digits or fewer, with the unit that fits."""

_DECIMAL = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def duration(seconds: float) -> str:
    """A time to four significant digits in s, ms, µs or ns."""
    rounded = float(f"{seconds:.4g}")  # first, so that 0.99999 ms is 1 ms and not 1000 µs
    unit, scale = next(((u, s) for u, s in _TIMES if rounded >= s), _TIMES[1] if rounded == 0 else _TIMES[-1])
    return f"{rounded / scale:.4g} {unit}"


def amount(count: float, unit: str) -> str:
    """A count to three significant digits with a decimal prefix: 154389504 "B" is "154 MB"."""
    rounded = float(f"{count:.3g}")  # first, so that 999 999 B is 1 MB and not 1e+03 kB
    prefix, scale = next(((p, s) for p, s in _DECIMAL if rounded >= s), ("", 1.0))
    return f"{rounded / scale:.3g} {prefix}{unit}"
