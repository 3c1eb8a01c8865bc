"""The report section: what was assumed, how fast it could be, how far a stated time is away, where the time goes.

Pure functions of the bounds: what is said is in the findings, nothing is added.
"""

from collections import defaultdict
from collections.abc import Sequence

from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Figure as SectionFigure
from enlist.tools.runtime.section import Section, Sentence, Table
from enlist.tools.solar.pricing.bounds import Bounds, DeviceBounds
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.roofline import roofline_svg
from enlist.tools.solar.report.spelling import spelled
from enlist.tools.solar.report.words import alike, bounds_of, conditions, explained

_LARGEST = 12


def section(given: Bounds, findings: Sequence[Finding] = ()) -> Section:
    """The section of one model on its devices; `findings` are those made from the same bounds."""
    every = tuple(f.id for f in findings)
    return Section(
        title=f"Speed of light of {given.target}",
        assumptions=tuple(Sentence(text=_sentence(line), findings=every) for line in given.assumed),
        lead=tuple(sentence for n, one in enumerate(given.devices)
                   for sentence in _lead(one, findings, explain=n == 0)),
        tables=(_fidelities(given), *(terms_table(one) for one in given.devices)),
        figures=(SectionFigure(title="Roofline", svg=roofline_svg(given)),),
        notes=("A bound is no forecast: launch overheads, latency and cache misses come on top. The estimate has them, "
               "and is no bound.", *conditions(given, given.devices[0])),
        next=_next(given))


def markdown(given: Bounds) -> str:
    """The same section as Markdown, without the figure."""
    made = section(given)
    lines = [f"## {made.title}", "", *(s.text for s in made.lead), "", "Assumed:", ""]
    lines += [f"- {s.text}" for s in made.assumptions]
    for table in made.tables:
        lines += ["", f"### {table.title}", "", _row(table.columns), _row(["---"] * len(table.columns)),
                  *(_row([_cell(c) for c in row]) for row in table.rows)]
    return "\n".join([*lines, "", *made.notes, *([f"Next: {made.next}"] if made.next else [])]) + "\n"


def _lead(one: DeviceBounds, findings: Sequence[Finding], explain: bool) -> list[Sentence]:
    def ids(*predicates: str) -> tuple[str, ...]:
        return tuple(f.id for f in findings if f.conditions.get("device") == one.device and f.predicate in predicates)

    spread = f"; the first is {one.spread:.3g} times the second" if one.spread else ""
    said = [Sentence(
        text=f"On {one.device}: at least {duration(one.unfused_s)} with one kernel per operator, at least "
             f"{duration(one.fused_s)} however well it is fused ({one.limiting_roof} decides){spread}.",
        findings=ids("fused lower bound", "unfused lower bound"))]
    if one.unfused_s:
        said.append(Sentence(text=f"Of the unfused bound on {one.device}, {_largest_parts(one)}.",
                             findings=ids("unfused lower bound")))
    said += [Sentence(text=text, findings=ids("unfused lower bound")) for text in (explained(one) if explain else ())]
    room = one.headroom
    if room.measured_s is None:
        said.append(Sentence(text=f"Distance on {one.device} unknown: {room.status}."))
        return said
    text = f"{duration(room.measured_s)} stated"
    if room.over_fused is not None and room.over_unfused is not None:
        text += (f" is {room.over_fused:.3g}x the fused bound and {room.over_unfused:.3g}x the unfused bound of "
                 f"{one.device}: {room.status}{_above(room.measured_s, one)}.")
    said.append(Sentence(text=text, findings=ids(
        "stated time over fused bound", "fused lower bound", "unfused lower bound")))
    return said


def _largest_parts(one: DeviceBounds) -> str:
    """The three largest parts of the unfused bound, an operator on a roof each: "linear on vector.fp32 takes 90 %"."""
    parts: defaultdict[tuple[str, str], float] = defaultdict(float)
    for term in one.terms:
        parts[spelled(term.op), term.roof] += term.seconds
    return ", ".join(f"{op} on {roof} takes {100 * seconds / one.unfused_s:.1f} %"
                     for (op, roof), seconds in sorted(parts.items(), key=lambda item: -item[1])[:3])


def _above(stated: float, one: DeviceBounds) -> str:
    """How much of a stated time lies above the bounds."""
    over = [f"{duration(stated - bound)} ({100 * (1 - bound / stated):.1f} %) of it above the {name} bound"
            for name, bound in (("unfused", one.unfused_s), ("fused", one.fused_s)) if stated > bound]
    return f", {' and '.join(over)}" if over else ""


def _fidelities(given: Bounds) -> Table:
    """The bounds at three fidelities on every device, with the estimate beside them."""
    names = [name for name, _ in bounds_of(given.devices[0])]
    rows = tuple((one.device, *(duration(value) for _, value in bounds_of(one)), duration(one.estimate_s),
                  one.limiting_roof) for one in given.devices)
    return Table(title="Lower bounds, and an estimate that is none",
                 columns=("device", *names, "estimate", "limit"), rows=rows)


def _next(given: Bounds) -> str:
    if any(d.headroom.status.startswith("below") for d in given.devices):
        return ("time it again with cold caches, synchronised, and in the dtype above; if it still is below the fused "
                "bound, capture again and look for work that is counted but not needed: `enlist tool solar-check`")
    if all(d.headroom.measured_s is None for d in given.devices):
        return "measure the model on the device and give the time as measured_s"
    return "start with the largest terms: those on the dram roof gain from fusion, the others from a faster dtype"


def terms_table(one: DeviceBounds, most: int | None = _LARGEST) -> Table:
    """The largest terms, all where `most` is None; equal ones of different layers together."""
    largest = alike(one.terms)[:most]
    rows = tuple((spelled(g[0].op), (g[0].where or "model") + (f" and {len(g) - 1} more" if len(g) > 1 else ""),
                  g[0].roof, amount(sum(t.flop for t in g), "FLOP"), amount(sum(t.bytes for t in g), "B"),
                  duration(sum(t.seconds for t in g)),
                  f"{100 * sum(t.seconds for t in g) / one.unfused_s:.1f} %" if one.unfused_s else "0 %")
                 for g in largest)
    return Table(title=f"Largest terms of the unfused bound on {one.device}",
                 columns=("operator", "where", "roof", "FLOP", "bytes", "time", "share"), rows=rows)


def _sentence(line: str) -> str:
    return line[:1].upper() + line[1:] + "."


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: str | float | int | None) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
