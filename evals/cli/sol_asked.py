"""The values of `enlist sol`'s options as they are typed: times, sizes, rates."""

import math
import re
from itertools import product
from math import prod

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.report.provisioning import Demand

_SECONDS = {"": 1e-3, "ms": 1e-3, "s": 1.0, "us": 1e-6, "\N{MICRO SIGN}s": 1e-6, "ns": 1e-9}
_NUMBER = r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)"
_MOST_SIZES = 64


def seconds(text: str) -> float | None:
    """ "12.5" and "12.5ms" are 0.0125; None for what is no time (then it is the path of a profile)."""
    found = re.fullmatch(_NUMBER + r"\s*(ms|us|\u00b5s|ns|s)?", text.strip(), re.IGNORECASE)
    if found is None:
        return None
    value = float(found[1]) * _SECONDS[(found[2] or "").lower()]
    if not 0 < value < math.inf:
        raise EnlistError("bad_input", "a measured time must be positive", given=text,
                          allowed="milliseconds such as 12.5, or with a unit: 12.5ms, 80us", fix="correct --measured")
    return value


def sweep(text: str) -> tuple[tuple[tuple[str, int], ...], ...]:
    """ "batch=1,8,64" as points, each of a dimension and a size; "batch=1,8;length=512,2048" as all four of both."""
    axes: dict[str, tuple[int, ...]] = {}
    for axis in text.split(";"):
        name, equals, listed = axis.partition("=")
        sizes = [part.strip() for part in listed.split(",")]
        if not (equals and name.strip() and all(s.isdecimal() and 0 < int(s) < 1 << 40 for s in sizes)):
            raise EnlistError("bad_input", "not a dimension with sizes", given=text,
                              allowed="batch=1,8,64, length=512,2048, x[1]=64,128, or an axis of a definition; several "
                              "are parted by semicolons", fix="correct --sweep")
        if name.strip() in axes:
            raise EnlistError("bad_input", f"{name.strip()} is swept twice", given=text, allowed="each dimension once",
                              fix="give all its sizes at once, as in batch=1,8,64")
        axes[name.strip()] = tuple(dict.fromkeys(map(int, sizes)))
    points = prod(map(len, axes.values()))
    if points > _MOST_SIZES:
        raise EnlistError("bad_input", f"{points} sizes are too many", allowed=f"{_MOST_SIZES} at once",
                          fix="leave some out")
    return tuple(tuple(zip(axes, sizes, strict=True)) for sizes in product(*axes.values()))


def demand(text: str) -> Demand:
    """ "5", "5ms" and "80us" ask for a time, "3000tokens/s" (or tok/s, tps) for a rate."""
    found = re.fullmatch(_NUMBER + r"\s*(?:tok(?:en)?s?\s*/\s*s(?:ec)?|tok(?:en)?s?_per_s|tps)", text.strip(),
                         re.IGNORECASE)
    if found is not None and 0 < float(found[1]) < math.inf:
        return Demand(tokens_per_s=float(found[1]))
    time = seconds(text)
    if time is None:
        raise EnlistError("bad_input", "neither a time nor a rate", given=text,
                          allowed="a time for one run (5 or 5ms, 80us, 2s) or a rate (3000tokens/s)",
                          fix="correct --provision")
    return Demand(latency_s=time)


def clock(mhz: float | None) -> float | None:
    """A clock in MHz, if one was given."""
    if mhz is not None and not 1 <= mhz <= 10_000:
        raise EnlistError("bad_input", "no clock of a processor", given=f"{mhz:g} MHz", allowed="1 to 10000 MHz",
                          fix="correct --clock")
    return mhz
