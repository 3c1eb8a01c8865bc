"""What a submission is worth: nothing if one of its numbers is above what is possible, else how tight it is.

Tightness of a number is its ratio to the known least, mapped so that being low by two (MAC for FLOP, a peak with
sparsity, half the bytes) is worth nothing: 2 * ratio - 1, within 0 and 1. The score is the product over the numbers
given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from enlist.environments.speed_of_light.truths import Known

SLACK = 1e-6  # relative: numbers pass through JSON and divisions
NUMBERS = ("matrix_flop", "fused_bytes", "fused_s", "unfused_s")
MOST_VECTOR = 8
"""FLOP of elementwise work on the vector units, per byte moved, that a bound may charge: the truth leaves it out."""


@dataclass(frozen=True)
class Judged:
    """A value in [0, 1], tightness by number, and the first number that is impossible with the reason."""

    value: float
    parts: dict[str, float]
    wrong: str = ""


def judge(known: Known, device: Mapping[str, float], answer: Mapping[str, Any]) -> Judged:
    """Hold the numbers of an answer against the truth; the answer has `fused_s` and may have the others."""
    limits = {name: known.limits(name) for name in ("matrix_flop", "fused_bytes")}
    parts: dict[str, float] = {}
    for name, (low, high) in limits.items():
        if answer.get(name) is None:
            continue
        if answer[name] > high * (1 + SLACK):
            return Judged(0.0, parts, f"{name} {answer[name]:.6g} is above {high}, which is enough: {known.why}")
        parts[name] = tightness(answer[name], low)
    low_s, high_s = (_seconds(known, device, *(limits[name][i] for name in limits)) for i in (0, 1))
    on_vector = MOST_VECTOR * limits["fused_bytes"][1] + (
        limits["matrix_flop"][1] if known.unit == "vector.fp32" else 0)
    if answer["fused_s"] > max(high_s, on_vector / device["vector.fp32"]) * (1 + SLACK):
        return Judged(0.0, parts, f"fused_s {answer['fused_s']:.6g} is above {high_s:.6g}, enough by {known.why}")
    if answer.get("unfused_s") is not None and answer["unfused_s"] < answer["fused_s"] * (1 - SLACK):
        return Judged(0.0, parts, "unfused_s is below fused_s: a kernel per operator cannot be faster than one for all")
    parts["fused_s"] = tightness(answer["fused_s"], low_s)
    value = 1.0
    for part in parts.values():
        value *= part
    return Judged(value, parts)


def tightness(given: float, least: float) -> float:
    """1 where `given` reaches what is known, 0 where it is half of that or less."""
    if least == 0:
        return 1.0
    return min(1.0, max(0.0, 2 * given / least - 1))


def _seconds(known: Known, device: Mapping[str, float], flop: int, moved: int) -> float:
    return max(moved / device["dram"], flop / device[known.unit] if known.unit else 0.0)


def readable(answer: Any) -> str:
    """Why an answer cannot be judged, or "" where it can."""
    if not isinstance(answer, dict) or set(answer) - set(NUMBERS):
        return f"the answer holds other keys than {', '.join(NUMBERS)}"
    if answer.get("fused_s") is None:
        return "fused_s is missing"
    for name, value in answer.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value)
                                  or value < 0):
            return f"{name} is not a finite number, 0 or more"
    return ""
