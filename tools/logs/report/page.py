"""An analysis as a page of its own: answer, rates by service, timeline, and every claim with the lines it cites.

The page loads nothing and runs no script; all text from the logs is escaped. A claim links to its lines and back.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from enlist.tools.logs.analysis import Analysis
from enlist.tools.logs.report.document import title_of
from enlist.tools.logs.report.masking import Masking
from enlist.tools.logs.report.rates import rates_svg
from enlist.tools.logs.report.words import answer

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ddd;
vertical-align:top}th{background:#f4f4f4}td,li,h1,p{overflow-wrap:anywhere}.rows,.plot{overflow-x:auto}
.plot svg{min-width:44rem;display:block}.answer{white-space:pre-wrap;background:#f4f4f4;padding:.8rem;
font-family:ui-monospace,monospace;overflow-wrap:anywhere}.line{font-family:ui-monospace,monospace;font-size:13px;
overflow-wrap:anywhere}.line:target,li:target{background:#fff3bf}.no{color:#a33}"""


def page_of(analysis: Analysis, document: Mapping[str, Any], masking: Masking | None = None) -> str:
    """The page of an analysis and its document, which was masked where `masking` is given."""
    cited = {(analysis.sources[ref.source].name, ref.line): masking.text(text) if masking else text
             for ref, text in analysis.cited.items()}
    return page(document, rates_svg(analysis, [e["claim"] for e in document["timeline"]]), cited)


def page(document: Mapping[str, Any], plot: str, cited: Mapping[tuple[str, int], str]) -> str:
    """The page as HTML.

    Args:
        document: as `document.document` makes it.
        plot: the SVG of `rates`, or "".
        cited: text of cited lines by (file, line).
    """
    return "".join(_parts(document, plot, cited))


def _parts(made: Mapping[str, Any], plot: str, cited: Mapping[tuple[str, int], str]) -> Iterator[str]:
    yield ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
           "content=\"default-src 'none'; style-src 'unsafe-inline'\"><meta name=\"viewport\" "
           f'content="width=device-width, initial-scale=1"><title>What happened</title>'
           f"<style>{_STYLE}</style></head><body><h1>What happened</h1>")
    yield f'<div class="answer">{escape(chr(10).join(answer(dict(made))))}</div>'
    if plot:
        yield f'<h2>Records by service</h2><div class="plot">{plot}</div><p>Grey: all records; red: records of ' \
              "trouble; shaded: the incident; dashed: events of the timeline.</p>"
    if made["timeline"]:
        yield "<h2>Timeline</h2>" + _table(("time (UTC)", "service", "event"), [
            (escape(str(e["time_utc"])), escape(e["service"]), f"{escape(e['event'].replace('_', ' '))}: "
             f'<a href="#c{e["evidence"]}">{escape(e["claim"])}</a>') for e in made["timeline"]])
    if len(made["candidates"]) > 1:
        yield "<h2>Candidates</h2>" + _table(("confidence", "component", "cause", "why"), [
            (f"{c['confidence']:.2f}", escape(c["component"]), escape(title_of(c["cause"])),
             "; ".join(f'<a href="#c{n}">{escape(made["claims"][n]["text"])}</a>' for n in c["evidence"]))
            for c in made["candidates"]])
    if made["red_herrings"]:
        items = "".join(f"<li>{escape(h['service'])}: {escape(h['text'])} ({escape(h['why_rejected'])})</li>"
                        for h in made["red_herrings"])
        yield f"<h2>Considered and rejected</h2><ul>{items}</ul>"
    if made["claims"]:
        yield "<h2>Evidence</h2><ol start=\"1\">" + "".join(
            _claim(n, claim, cited) for n, claim in enumerate(made["claims"])) + "</ol>"
    if made["unknown"]:
        yield "<h2>Not known</h2><ul>" + "".join(f"<li>{escape(u)}</li>" for u in made["unknown"]) + "</ul>"
    read = made["accounting"]
    kinds = ", ".join(f"{n:,} {escape(c)}" for c, n in read["by_category"].items())
    yield f"<h2>What was read</h2><p>{read['lines_read']:,} lines ({kinds}) of {read['files']} files.</p>"
    notes = [f"{one['file']}: not read, {one['reason']}" for one in read["files_skipped"]]
    notes += [f"{one['file']}: {one['text']}" for one in read["notes"]]
    if notes:
        yield "<ul>" + "".join(f"<li>{escape(n)}</li>" for n in notes) + "</ul>"
    yield "</body></html>\n"


def _claim(number: int, claim: Mapping[str, Any], cited: Mapping[tuple[str, int], str]) -> str:
    mark = "" if claim["verified"] else ' <span class="no">not found again</span>'
    lines = "".join(
        f'<div class="line"><b>{escape(one["file"])}:{one["line"]}</b> '
        f'{escape(cited.get((one["file"], one["line"]), ""))[:600]}</div>' for one in claim["lines"])
    return (f'<li id="c{number}">{escape(claim["text"])}{mark}<details open><summary>{len(claim["lines"])} lines'
            f"</summary>{lines}</details></li>")


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{c}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="rows"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
