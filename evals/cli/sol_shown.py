"""The terminal view of `enlist sol`: the answer in the first five lines, then what it rests on.

Every table fits 80 columns. Several analyses are one table; `--terms` opens each of them.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.analysis import Analysis
from enlist.tools.solar.report.opportunities import MEANING
from enlist.tools.solar.report.provisioning import Provision
from enlist.tools.solar.report.section import terms_table
from enlist.tools.solar.report.words import answer_lines, conditions, explained, fitting, sizes_fitting, unit

_MOST_ROWS = 12
_WHAT = 21  # columns that stay for the name beside four times and a roof
Ended = tuple[str, str, Analysis | EnlistError]


def show(terminal: Any, made: Sequence[Ended], opened: bool) -> None:
    """Print analyses and faults."""
    analyses = [one for _, _, one in made if isinstance(one, Analysis)]
    if len(analyses) == 1:
        _whole(terminal, analyses[0], opened)
    elif analyses:
        _several(terminal, analyses)
        for one in analyses:
            if opened:
                terminal.line()
                _whole(terminal, one, opened)
            elif len(one.bounds.devices) > 1 or one.sweep or one.provision is not None:
                terminal.line()
                terminal.line(fitting(one.title), style="bold")
                _asked(terminal, one)
    for file, label, fault in made:
        if isinstance(fault, EnlistError):
            terminal.note(f"error: {file} {label}".strip() + f": {fault.message} [{fault.code}]")
            for name, text in (("given", fault.given), ("allowed", fault.allowed), ("to fix", fault.fix)):
                if text is not None:
                    terminal.note(f"  {name}: {text}")


def _whole(terminal: Any, made: Analysis, opened: bool) -> None:
    first, *others = answer_lines(made.title, made.one)
    terminal.line(first, style="bold")
    for line in others:
        terminal.line(line)
    one = made.one
    if one.headroom.measured_s is not None and one.headroom.status.startswith("below"):
        terminal.paragraph(one.headroom.status, style="bold")
    terminal.line()
    for paragraph in explained(one):
        terminal.paragraph(paragraph)
    _terms(terminal, terms_table(one, None if opened else _MOST_ROWS))
    if opened:
        _opened(terminal, made)
    _opportunities(terminal, made, opened)
    _profile(terminal, made, opened)
    _asked(terminal, made)
    if made.unverified:
        names = ", ".join(sorted(made.unverified))
        terminal.paragraph(f"data sheet not verified by two documents: {names}", style="dim")
    terminal.line()
    for line in (*conditions(made.bounds, one), *made.bounds.assumed):
        terminal.paragraph(line)


def _asked(terminal: Any, made: Analysis) -> None:
    """Other devices, other sizes, enough hardware: what was asked for beside the bounds."""
    if len(made.bounds.devices) > 1:
        _compare(terminal, made)
    if made.sweep:
        _sweep(terminal, made)
    if made.provision is not None:
        _provision(terminal, made.provision)


def _opportunities(terminal: Any, made: Analysis, opened: bool) -> None:
    shown = made.opportunities[:None if opened else 8]
    if not shown:
        return
    terminal.line()
    terminal.table(("saves at most", "kind", "what"), [(duration(o.saves_s), o.kind, o.what) for o in shown])
    for kind in dict.fromkeys(o.kind for o in shown):
        terminal.paragraph(f"{kind}: {MEANING[kind]}", style="dim")


def _opened(terminal: Any, made: Analysis) -> None:
    """What the fused bound is made of, and where each rate is from."""
    one = made.one
    terminal.line()
    terminal.line("The fused bound is, in each phase, the slowest of")
    terminal.table(("roof", "phase", "amount", "at most", "time"), [
        (r.roof, r.phase, amount(r.amount, unit(r.roof)), amount(r.peak, f"{unit(r.roof)}/s"), duration(r.seconds))
        for r in sorted(one.roofs, key=lambda r: -r.seconds)])
    terminal.line()
    terminal.line("What must cross DRAM, however well it is fused")
    terminal.table(("tensor", "role", "way", "phase", "bytes"), [
        (t.name or t.tensor, t.role, t.way, t.phase, amount(t.bytes, "B"))
        for t in sorted(made.bounds.transfers, key=lambda t: -t.bytes)], keep=(4,))
    terminal.line()
    for roof, used in one.dtype_peaks.items():
        terminal.paragraph(f"{roof}: {amount(used.per_second, used.unit)} at the {used.clock} clock ({used.source})")


def _terms(terminal: Any, table: Any) -> None:
    terminal.line()
    terminal.line(table.title)
    terminal.table(table.columns, table.rows, keep=(5, 6))


def _several(terminal: Any, analyses: Sequence[Analysis]) -> None:
    """A line for each; workloads of one problem stand together below its name, told apart by their sizes."""
    terminal.line(f"{len(analyses)} analyses on {analyses[0].one.device}", style="bold")
    for target, group in groupby(analyses, key=lambda a: a.bounds.target if a.label else ""):
        if target:
            terminal.line(fitting(target))
        terminal.table(("what", "fused", "cache-aware", "unfused", "estimate", "limit"), [
            (sizes_fitting(a.label, _WHAT) if target else fitting(a.title, columns=_WHAT), duration(a.one.fused_s),
             duration(a.one.cache_aware_s), duration(a.one.unfused_s), duration(a.one.estimate_s), a.one.limiting_roof)
            for a in group], keep=(1, 2, 3, 4))


def _compare(terminal: Any, made: Analysis) -> None:
    terminal.line()
    terminal.table(("device", "fused", "cache-aware", "unfused", "estimate", "limit"), [
        (d.device + ("*" if d.device in made.unverified else ""), duration(d.fused_s), duration(d.cache_aware_s),
         duration(d.unfused_s), duration(d.estimate_s), d.limiting_roof) for d in made.bounds.devices],
        keep=(1, 2, 3, 4))


def _sweep(terminal: Any, made: Analysis) -> None:
    found = [(s.sizes, s.bounds.devices[0]) for s in made.sweep if not isinstance(s.bounds, EnlistError)]
    terminal.line()
    terminal.table((made.sweep[0].dimensions, "fused", "cache-aware", "unfused", "estimate", "limit"), [
        (size, duration(one.fused_s), duration(one.cache_aware_s), duration(one.unfused_s), duration(one.estimate_s),
         one.limiting_roof) for size, one in found])
    for point in made.sweep:
        if isinstance(point.bounds, EnlistError):
            terminal.note(f"error: {_spelled(point.at)}: {point.bounds.sentence()}")


def _spelled(at: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{name}={size}" for name, size in at)


def _provision(terminal: Any, found: Provision) -> None:
    terminal.line()
    per = f", {found.tokens} tokens a run" if found.tokens is not None else ""
    terminal.line(f"For one run in {duration(found.latency_s)}{per}, hardware needs at least")
    rates = ", ".join(f"{amount(rate, unit(roof) + '/s')} of {roof}" for roof, rate in found.rates.items())
    terminal.paragraph(f"{rates}, and {amount(found.capacity, 'B')} of DRAM")
    terminal.table(("at least", "device", "one takes", "because of"), [
        (e.count if e.count is not None else "none", e.device, duration(e.fused_s), e.because) for e in found.devices])


def _profile(terminal: Any, made: Analysis, opened: bool) -> None:
    joined = made.joined
    if joined is None:
        return
    terminal.line()
    where = "on the device" if joined.on_device else "on the CPU"
    terminal.line(f"{joined.profile}: {duration(joined.total_s)} {where} in each of {joined.steps} iterations, "
                  f"{100 * joined.joined_share:.0f} % joined to operators")
    terminal.table(("operator", "where", "measured", "bound", "headroom"), [
        (r.op, r.where, duration(r.measured_s), duration(r.bound_s), f"{r.headroom:.3g}x" if r.headroom else "-")
        for r in joined.rows[:None if opened else _MOST_ROWS]], keep=(0, 2, 3, 4))
    left = joined.unjoined[:None if opened else 5]
    if left:
        terminal.paragraph("not joined: " + ", ".join(f"{u.name} {duration(u.seconds)}" for u in left) + (
            f" and {len(joined.unjoined) - len(left)} more" if len(joined.unjoined) > len(left) else ""))
