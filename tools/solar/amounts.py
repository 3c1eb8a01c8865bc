"""Amounts as people read them: four digits or fewer, with the unit that fits."""

_DECIMAL = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def duration(seconds: float) -> str:
    """A time to four significant digits in s, ms or µs."""
    rounded = float(f"{seconds:.4g}")
    if rounded >= 1:
        return f"{rounded:.4g} s"
    return f"{rounded * 1e3:.4g} ms" if rounded >= 1e-3 or rounded == 0 else f"{rounded * 1e6:.4g} µs"


def amount(count: float, unit: str) -> str:
    """A count to three significant digits with a decimal prefix: 154389504 "B" is "154 MB"."""
    rounded = float(f"{count:.3g}")  # first, so that 999 999 B is 1 MB and not 1e+03 kB
    prefix, scale = next(((p, s) for p, s in _DECIMAL if rounded >= s), ("", 1.0))
    return f"{rounded / scale:.3g} {prefix}{unit}"
