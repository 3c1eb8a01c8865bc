"""A plot of rates by service over time, as SVG: all records in grey, records of trouble in red, the incident shaded."""

from collections.abc import Sequence
from html import escape

from enlist.tools.logs.analysis import Analysis
from enlist.tools.logs.report.document import iso
from enlist.tools.logs.signals.found import badness

_WIDE, _HIGH, _LEFT, _TOP = 900, 34, 190, 26
_MOST = 14
_BAD = 0.3
_NS = 1_000_000_000


def rates_svg(analysis: Analysis, told: Sequence[str]) -> str:
    """The plot, `told` being the texts of the timeline's events; "" where no record has a time."""
    at = analysis.grid
    if at is None:
        return ""
    every: dict[str, list[int]] = {}
    bad: dict[str, list[int]] = {}
    for (service, template), one in sorted(analysis.series.items()):
        mine, worse = every.setdefault(service, [0] * at.n), bad.setdefault(service, [0] * at.n)
        is_bad = badness(template, analysis.texts[template], one) >= _BAD
        for slot, n in one.counts.items():
            mine[at.bucket(slot)] += n
            if is_bad:
                worse[at.bucket(slot)] += n
    shown = sorted(every, key=lambda s: (-sum(bad[s]), -sum(every[s]), s))[:_MOST]
    height = _TOP + _HIGH * len(shown) + 24
    start, end = at.start(0), at.start(at.n)

    def x(ns: int) -> float:
        return _LEFT + _WIDE * (ns - start) / max(1, end - start)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDE + 20} {height}" role="img" '
             'font-family="system-ui,sans-serif" font-size="12"><title>Records by service over time</title>']
    incident = analysis.incident
    if incident.start is not None and incident.end is not None:
        left = x(incident.start)
        parts.append(f'<rect x="{left:.1f}" y="{_TOP}" width="{max(2.0, x(incident.end) - left):.1f}" '
                     f'height="{_HIGH * len(shown)}" fill="#fde8d0"/>')
    for row, service in enumerate(shown):
        base = _TOP + _HIGH * (row + 1) - 4
        parts.append(f'<text x="{_LEFT - 8}" y="{base - 8}" text-anchor="end">{escape(service[:28] or "log")}</text>')
        most = max(max(every[service]), 1)
        for counts, colour in ((every[service], "#b8bcc4"), (bad[service], "#c2261c")):
            bars = "".join(f"M{x(at.start(b)):.1f} {base}v-{(_HIGH - 8) * n / most:.1f}h{_WIDE / at.n:.2f}V{base}z"
                           for b, n in enumerate(counts) if n)
            parts.append(f'<path d="{bars}" fill="{colour}"/>')
    for event, text in zip(incident.timeline, told, strict=True):
        if start <= event.time <= end:
            parts.append(f'<line x1="{x(event.time):.1f}" x2="{x(event.time):.1f}" y1="{_TOP - 6}" '
                         f'y2="{_TOP + _HIGH * len(shown)}" stroke="#1b4f8a" stroke-dasharray="3 3"><title>'
                         f"{escape(event.kind.replace('_', ' '))}: {escape(text)}</title></line>")
    for share in (0.0, 0.5, 1.0):
        ns = int(start + share * (end - start))
        anchor = ("start", "middle", "end")[int(2 * share)]
        parts.append(f'<text x="{x(ns):.1f}" y="{height - 6}" text-anchor="{anchor}">{(iso(ns) or "")[:19]}Z</text>')
    return "".join([*parts, "</svg>"])
