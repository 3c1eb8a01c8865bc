"""The answer in words: five lines that say all, and the largest terms explained.

Said with the numbers of the bounds alone; what helps follows from which roof decides, not from the operator's name.
"""

from collections.abc import Sequence

from enlist.tools.solar.pricing.model import Bounds, DeviceBounds, Term
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.spelling import spelled

FIDELITIES = (("fused", "fused_s"), ("cache-aware", "cache_aware_s"), ("unfused", "unfused_s"))
"""The bounds by the word for them, the lowest first."""


LINE = 80
"""Columns of a terminal that every line of an answer fits."""


def bounds_of(one: DeviceBounds) -> list[tuple[str, float]]:
    """The bounds on a device by name."""
    return [(name, getattr(one, field)) for name, field in FIDELITIES]


def answer_lines(title: str, one: DeviceBounds) -> list[str]:
    """What on what, the bounds, the estimate, the headroom, the roof that decides."""
    listed = ", ".join(f"{name} {duration(value)}" for name, value in bounds_of(one))
    return [fitting(title, f" on {one.device}"), f"at least  {listed}",
            f"estimate  {duration(one.estimate_s)} with {one.launches} launches (no bound)",
            f"headroom  {headroom(one)}", f"limit     {limit(one)}"]


def fitting(title: str, end: str = "", columns: int = LINE) -> str:
    """Title and end in so many columns: what is too long is left out of the middle of the title."""
    over = len(title) + len(end) - columns
    if over <= 0:
        return title + end
    kept = len(title) - over - 1
    return f"{title[:kept // 2]}\N{HORIZONTAL ELLIPSIS}{title[len(title) - (kept - kept // 2):]}{end}"


def sizes_fitting(label: str, columns: int) -> str:
    """Sizes such as "batch_size=4 seq_len=128" in so many columns: names are cut before numbers are."""
    words = [word.partition("=") for word in label.split(" ")]
    for letters in range(max(len(name) for name, _, _ in words), 0, -1):
        cut = " ".join(f"{name[:letters]}{equals}{size}" for name, equals, size in words)
        if len(cut) <= columns:
            return cut
    return fitting(label, columns=columns)


def conditions(made: Bounds, one: DeviceBounds) -> list[str]:
    """What the numbers hold for, and what stands beside them: class, float32 without TF32, memory, coverage, energy."""
    lines = [f"{name}: {text}" for name, text in one.cls.items()]
    if any(getattr(one.strict, field) != getattr(one, field) for _, field in FIDELITIES):
        strict = ", ".join(f"{name} {duration(getattr(one.strict, field))}" for name, field in FIDELITIES)
        lines.append(f"float32 multiplied in float32 only: {strict}")
    held = {k: v for k, v in one.memory.model_dump(exclude={"total", "saved", "fits"}).items() if v}
    parts = ", ".join(f"{name.replace('_', ' ')} {amount(size, 'B')}" for name, size in held.items())
    lines.append(f"memory: at least {amount(one.memory.total, 'B')} ({parts}), which "
                 f"{'fits' if one.memory.fits else 'does not fit'} the device"
                 + (f"; eager autograd saves {amount(one.memory.saved, 'B')} more" if one.memory.saved else ""))
    shares = made.coverage
    lines.append(f"modelled: {100 * shares.ops:.4g} % of the operators, {100 * shares.flop:.4g} % of the FLOP, "
                 f"{100 * shares.bytes:.4g} % of the bytes")
    if one.energy_j is not None:
        lines.append(f"energy: {one.energy_j:.3g} J at the sheet's power for as long as the estimate")
    if one.mfu is not None and one.hfu is not None:
        lines.append(f"utilisation at the measured time: MFU {100 * one.mfu:.3g} %, HFU {100 * one.hfu:.3g} %")
    return lines


def headroom(one: DeviceBounds) -> str:
    """A measured time over each bound, or that there is none."""
    measured = one.headroom.measured_s
    if measured is None:
        return "unknown: nothing was measured (--measured MS or a profile)"
    ratios = ", ".join(f"{measured / bound:.3g}x {name}" for name, bound in bounds_of(one) if bound)
    return f"{duration(measured)} is {ratios}" if ratios else f"{duration(measured)}, where nothing has to be done"


def limit(one: DeviceBounds) -> str:
    """The roof that decides the fused bound, with its amount and its peak."""
    roofs = [r for r in one.roofs if r.roof == one.limiting_roof]
    if not roofs:
        return one.limiting_roof
    roof = max(roofs, key=lambda r: r.seconds)
    phase = "" if roof.phase == "forward" else f" in the {roof.phase} phase"
    return f"{roof.roof}: {amount(roof.amount, unit(roof.roof))} at {amount(roof.peak, unit(roof.roof) + '/s')}{phase}"


def unit(roof: str) -> str:
    """What a roof is measured in."""
    return {"dram": "B", "llc": "B", "link": "B", "special": "evaluations"}.get(roof, "FLOP")


def alike(terms: Sequence[Term]) -> list[list[Term]]:
    """Terms that are equal but for their place (layers of a stack), the largest sum first."""
    groups: dict[tuple[str, str, int, int], list[Term]] = {}
    for term in terms:
        groups.setdefault((term.op, term.roof, term.flop, term.bytes), []).append(term)
    return sorted(groups.values(), key=lambda g: -g[0].seconds * len(g))


def explained(one: DeviceBounds, most: int = 3) -> list[str]:
    """The largest terms of the unfused bound, a paragraph each: what it is, which roof decides, what would help."""
    peaks = {name: used.per_second for name, used in one.dtype_peaks.items()} | {r.roof: r.peak for r in one.roofs}
    return [_explained(one, group, peaks) for group in alike(one.terms)[:most] if group[0].seconds]


def _explained(one: DeviceBounds, group: Sequence[Term], peaks: dict[str, float]) -> str:
    term, count = group[0], len(group)
    seconds = term.seconds * count
    share = 100 * seconds / one.unfused_s if one.unfused_s else 0.0
    who = f"{spelled(term.op)} in {term.where or 'the model'}" + (f" and {count - 1} more like it" if count > 1 else "")
    moving = term.bytes / peaks["dram"] if peaks.get("dram") else None
    each = " each" if count > 1 else ""
    text = f"{who}: {duration(seconds)}, {share:.1f} % of the unfused bound. "
    if term.roof == "dram":
        less = f", and its {amount(term.flop, 'FLOP')} take less" if term.flop else ""
        text += (f"Memory decides: {amount(term.bytes, 'B')}{each} have to cross DRAM at "
                 f"{amount(peaks['dram'], 'B/s')}{less}. Fusing it with its neighbours, or smaller dtypes, would save "
                 "that; more arithmetic units would not.")
    else:
        done = {"special": term.special, "link": term.link_bytes}.get(term.roof, term.flop)
        text += f"{term.roof} decides: {amount(done, unit(term.roof))}{each}"
        text += f" at {amount(peaks[term.roof], unit(term.roof) + '/s')}" if term.roof in peaks else ""
        if moving is not None and moving < term.seconds:
            text += f"; its {amount(term.bytes, 'B')} need {duration(moving)} of DRAM, which can overlap"
        text += (". Fewer exchanges, fewer bytes in each or other work meanwhile would help."
                 if term.roof == "link" else ". Less work or a dtype with a faster roof would help; fusion would not.")
    text += f" Counted below the dense work: {term.less}." if term.less else ""
    return text + (f" The estimate is {term.loose_by:.3g} times this bound." if term.loose_by else "")
