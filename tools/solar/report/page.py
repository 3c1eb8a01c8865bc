"""A page of its own for a browser: answer, roofline, graph and every term, in one file that loads nothing.

The only script sorts tables; its hash stands in the page's content security policy, which allows no other script and no
request at all. All text that came from outside is escaped.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.pricing.model import DeviceBounds
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.analysis import Analysis
from enlist.tools.solar.report.drawing import graph_svg
from enlist.tools.solar.report.roofline import roofline_svg
from enlist.tools.solar.report.spelling import spelled
from enlist.tools.solar.report.words import answer_lines, conditions, explained, unit

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{padding:.15rem .7rem;text-align:left;border-bottom:1px solid
#ddd;vertical-align:top}th{background:#f4f4f4}.n{text-align:right;font-variant-numeric:tabular-nums}
h1,h2,td,li{overflow-wrap:anywhere}.rows{overflow-x:auto}.rows td,.rows th{overflow-wrap:normal}.rows td.n{
white-space:nowrap}.plot{overflow-x:auto}.plot svg{min-width:36rem;display:block}
.sortable th{cursor:pointer}.sortable th::after{content:" \\2195";color:#aaa}
.wide{overflow:auto;max-height:42rem;
border:1px solid #ddd}.answer{white-space:pre-wrap;overflow-wrap:anywhere;
font-family:ui-monospace,monospace;background:#f4f4f4;padding:.8rem;
overflow:auto}"""
_SCRIPT = """document.querySelectorAll("table.sortable").forEach(function(table){
table.querySelectorAll("th").forEach(function(head,column){head.addEventListener("click",function(){
var body=table.tBodies[0],rows=Array.from(body.rows),up=head.dataset.up!=="1";head.dataset.up=up?"1":"0";
function key(row){var cell=row.cells[column];return cell.dataset.v===undefined?cell.textContent:+cell.dataset.v}
rows.sort(function(a,b){var x=key(a),y=key(b);return(x<y?-1:x>y?1:0)*(up?1:-1)});
rows.forEach(function(row){body.appendChild(row)})})})});"""

_PLOTTED = 4  # devices in one roofline plot; more cannot be told apart

Cell = str | tuple[str, float]
"""Text, or text with the number to sort by."""


def page(analyses: Sequence[Analysis]) -> str:
    """The page of some analyses, as HTML."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = analyses[0].title if len(analyses) == 1 else f"{len(analyses)} analyses"
    index = ""
    if len(analyses) > 1:
        links = "".join(f'<li><a href="#a{n}">{escape(a.title)}</a>: fused {escape(duration(a.one.fused_s))}</li>'
                        for n, a in enumerate(analyses))
        index = f"<ul>{links}</ul>"
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
            f'content="{policy}"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Speed of light: {escape(title)}</title><style>{_STYLE}</style></head><body>"
            f"<h1>Speed of light: {escape(title)}</h1>{index}"
            + "".join(_section(n, a) for n, a in enumerate(analyses)) + f"<script>{_SCRIPT}</script></body></html>\n")


def _section(number: int, made: Analysis) -> str:
    plotted = made.bounds.model_copy(update={"devices": made.bounds.devices[:_PLOTTED]})
    lines = "\n".join(answer_lines(made.title, made.one))
    parts = [f'<h2 id="a{number}">{escape(made.title)}</h2><div class="answer">{escape(lines)}</div>',
             _list("The three largest terms", explained(made.one)), _bounds(made), _opportunities(made),
             f'<h3>Roofline</h3><div class="plot">{roofline_svg(plotted)}</div>',
             f'<h3>Operators</h3><p>Blue boxes wait for memory, orange ones for arithmetic; the bar is the time.</p>'
             f'<div class="wide">{graph_svg(made.graph, made.one.terms)}</div>', _terms(made), _profile(made),
             _sweep(made), _provision(made), _peaks(made),
             _list("What this rests on", [*conditions(made.bounds, made.one), *made.bounds.assumed]),
             _list("Not modelled, counted as no work", made.bounds.unmodelled)]
    return "".join(parts)


def _bounds(made: Analysis) -> str:
    rows = [[d.device, *_times(d), d.limiting_roof] for d in made.bounds.devices]
    return "<h3>Bounds</h3>" + _table(("device", "fused", "cache-aware", "unfused", "estimate", "limit"), rows)


def _peaks(made: Analysis) -> str:
    rows: list[list[Cell]] = [[roof, (amount(p.per_second, p.unit), p.per_second), p.clock, p.source]
                              for roof, p in made.one.dtype_peaks.items()]
    return "<h3>Roofs, from the data sheet</h3>" + _table(("roof", "rate", "clock", "source"), rows)


def _opportunities(made: Analysis) -> str:
    if not made.opportunities:
        return ""
    rows: list[list[Cell]] = [[_time(o.saves_s), o.kind, o.what, o.how] for o in made.opportunities]
    return "<h3>Opportunities</h3>" + _table(("saves at most", "kind", "what", "how"), rows)


def _terms(made: Analysis) -> str:
    whole = made.one.unfused_s or 1.0
    rows: list[list[Cell]] = [
        [spelled(t.op), t.where or "model", t.roof, (amount(t.flop, "FLOP"), t.flop), (amount(t.bytes, "B"), t.bytes),
         _time(t.seconds), (f"{100 * t.seconds / whole:.2f} %", t.seconds), _time(t.estimate_s)]
        for t in made.one.terms]
    return f"<h3>Terms of the unfused bound on {escape(made.one.device)}</h3>" + _table(
        ("operator", "where", "roof", "FLOP", "bytes", "time", "share", "estimate"), rows)


def _profile(made: Analysis) -> str:
    if made.joined is None:
        return ""
    rows: list[list[Cell]] = [
        [r.op, r.where, _time(r.measured_s), _time(r.bound_s),
         (f"{r.headroom:.3g}x", r.headroom) if r.headroom else ("-", 0.0), r.level] for r in made.joined.rows]
    rows += [[u.name, "not joined", _time(u.seconds), "", "", ""] for u in made.joined.unjoined]
    return f"<h3>Measured: {escape(made.joined.profile)}</h3>" + _table(
        ("operator", "where", "measured", "bound", "headroom", "joined by"), rows)


def _sweep(made: Analysis) -> str:
    if not made.sweep:
        return ""
    rows: list[list[Cell]] = []
    for point in made.sweep:
        if isinstance(point.bounds, EnlistError):
            rows.append([(point.sizes, point.at[0][1]), point.bounds.message, "", "", "", ""])
        else:
            one = point.bounds.devices[0]
            rows.append([(point.sizes, point.at[0][1]), *_times(one), one.limiting_roof])
    return "<h3>Sweep</h3>" + _table(
        (made.sweep[0].dimensions, "fused", "cache-aware", "unfused", "estimate", "limit"), rows)


def _provision(made: Analysis) -> str:
    found = made.provision
    if found is None:
        return ""
    needs = [f"{amount(rate, unit(roof) + '/s')} of {roof}" for roof, rate in found.rates.items()]
    rows: list[list[Cell]] = [[(str(e.count or "none"), float(e.count or 1e18)), e.device, _time(e.fused_s), e.because]
                              for e in found.devices]
    title = f"The least hardware for one run in {duration(found.latency_s)}"
    return _list(title, [*needs, f"{amount(found.capacity, 'B')} of DRAM"]) + _table(
        ("at least", "device", "one takes", "because of"), rows)


def _times(one: DeviceBounds) -> list[Cell]:
    return [_time(one.fused_s), _time(one.cache_aware_s), _time(one.unfused_s), _time(one.estimate_s)]


def _time(seconds: float | None) -> Cell:
    return "-" if seconds is None else (duration(seconds), seconds)


def _table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    table = f'<table class="sortable"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="rows">{table}</div>'


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    return f'<td class="n" data-v="{cell[1]!r}">{escape(cell[0])}</td>'


def _list(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h3>{escape(title)}</h3><ul>{items}</ul>" if items else ""
