"""The answer in words: five lines that say all, and the largest terms explained.

Said with the numbers of the bounds alone; what helps follows from which roof decides, not from the operator's name.
"""

from collections.abc import Sequence

from enlist.tools.solar.pricing.bounds import DeviceBounds, Term
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.spelling import spelled

FIDELITIES = (("fused", "fused_s"), ("cache-aware", "cache_aware_s"), ("unfused", "unfused_s"))
"""The bounds by the word for them, the lowest first."""


def bounds_of(one: DeviceBounds) -> list[tuple[str, float]]:
    """The bounds on a device by name, without one that does not exist."""
    return [(name, value) for name, field in FIDELITIES if (value := getattr(one, field, None)) is not None]


def answer_lines(title: str, one: DeviceBounds) -> list[str]:
    """What on what, the bounds, the estimate, the headroom, the roof that decides."""
    listed = ", ".join(f"{name} {duration(value)}" for name, value in bounds_of(one))
    return [f"{title} on {one.device}", f"at least  {listed}", f"estimate  {duration(getattr(one, 'estimate_s', 0.0))} (no bound)",
            f"headroom  {headroom(one)}", f"limit     {limit(one)}"]


def headroom(one: DeviceBounds) -> str:
    """A measured time over each bound, or that there is none."""
    measured = one.headroom.measured_s
    if measured is None:
        return "unknown: nothing was measured (--measured MS or a profile)"
    return f"{duration(measured)} is " + ", ".join(f"{measured / b:.3g}x {name}" for name, b in bounds_of(one) if b)


def limit(one: DeviceBounds) -> str:
    """The roof that decides the fused bound, with its amount and its peak."""
    roof = next((r for r in one.roofs if r.roof == one.limiting_roof), None)
    if roof is None:
        return one.limiting_roof
    unit = "B" if roof.roof in ("dram", "llc") else "FLOP"
    return f"{roof.roof}: {amount(roof.amount, unit)} at {amount(roof.peak, f'{unit}/s')}"


def alike(terms: Sequence[Term]) -> list[list[Term]]:
    """Terms that are equal but for their place (layers of a stack), the largest sum first."""
    groups: dict[tuple[str, str, int, int], list[Term]] = {}
    for term in terms:
        groups.setdefault((term.op, term.roof, term.flop, term.bytes), []).append(term)
    return sorted(groups.values(), key=lambda g: -g[0].seconds * len(g))


def explained(one: DeviceBounds, most: int = 3) -> list[str]:
    """The largest terms of the unfused bound, a paragraph each: what it is, which roof decides, what would help."""
    peaks = {r.roof: r.peak for r in one.roofs}
    return [_explained(one, group, peaks) for group in alike(one.terms)[:most] if group[0].seconds]


def _explained(one: DeviceBounds, group: Sequence[Term], peaks: dict[str, float]) -> str:
    term, count = group[0], len(group)
    seconds = term.seconds * count
    share = 100 * seconds / one.unfused_s if one.unfused_s else 0.0
    who = f"{spelled(term.op)} in {term.where or 'the model'}" + (f" and {count - 1} more like it" if count > 1 else "")
    moving = term.bytes / peaks["dram"] if peaks.get("dram") else None
    text = f"{who}: {duration(seconds)}, {share:.1f} % of the unfused bound. "
    if term.roof == "dram":
        text += (f"Memory decides: {amount(term.bytes, 'B')} each have to cross DRAM at "
                 f"{amount(peaks['dram'], 'B/s')}, and its {amount(term.flop, 'FLOP')} take less. Fusing it with its "
                 "neighbours, or smaller dtypes, would save that; more arithmetic units would not.")
    else:
        text += f"{term.roof} decides: {amount(term.flop, 'FLOP')} each"
        text += f" at {amount(peaks[term.roof], 'FLOP/s')}" if term.roof in peaks else ""
        if moving is not None and moving < term.seconds:
            text += f"; its {amount(term.bytes, 'B')} need {duration(moving)} of DRAM, which can overlap"
        text += ". Less work or a dtype with a faster roof would help; fusion would not."
    loose = getattr(term, "loose_by", None)
    return text + (f" Looseness: {loose}." if loose else "")
