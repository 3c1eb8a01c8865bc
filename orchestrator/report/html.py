"""The report as one HTML file: no scripts, nothing loaded from elsewhere; figures are inline SVG made by our tools."""

import html
from collections.abc import Iterator
from typing import Any

from enlist.orchestrator.report.content import Content
from enlist.orchestrator.report.wording import (
    about_lines,
    describe_evidence,
    give_up,
    headline,
    number,
    printable,
    replacements,
    shorten,
)
from enlist.tools.runtime.section import Section, Sentence, Table

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #ddd}h3{font-size:1rem}
.status{padding:.5rem .8rem;border-left:4px solid #47a;background:#eef4fa}.failed,.partial,.budget{border-color:#c60;
background:#fdf3e7}.assumed{color:#444}table{border-collapse:collapse;font-size:.9rem;display:block;overflow-x:auto}
td,th{border:1px solid #ddd;padding:.25rem .5rem;text-align:left;vertical-align:top}td.n{text-align:right;
font-variant-numeric:tabular-nums}.confirmed{color:#175}.refuted{color:#b00;font-weight:bold}.not_checked{color:#850}
code,pre{background:#f5f5f5;padding:.1rem .3rem;white-space:pre-wrap}svg{max-width:100%;height:auto}
"""


def escape(text: str) -> str:
    """`text` as HTML text, with nothing in it that cannot be seen."""
    return html.escape(printable(text))


def render_html(content: Content, status: str, about: dict[str, Any]) -> str:
    """The whole report."""
    title = escape(shorten(content.request.text, 120))
    body = "\n".join(_body(content, status, about))
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width,initial-scale=1"><title>{title}</title><style>{STYLE}</style></head>\n'
            f"<body><h1>{title}</h1>\n{body}\n</body></html>\n")


def _body(content: Content, status: str, about: dict[str, Any]) -> Iterator[str]:
    marks = {claim.finding.id: f"F{n}" for n, claim in enumerate(content.claims, 1)}
    yield f'<p class="status {escape(status)}">{escape(headline(content, status))}</p>'
    for section in content.sections:
        yield from _section(section, marks)
    if content.missing or content.unfinished or content.plan is None:
        yield "<h2>What is missing</h2><ul>"
        yield from (f"<li>{escape(m.capability)}: {escape(m.reason)}</li>" for m in content.missing)
        yield from (f"<li>{escape(give_up(role))}</li>" for role in content.unfinished)
        if content.plan is None:
            yield from (f"<li>nearest: {escape(n.capability)} ({n.status}, {n.score:.2f}): {escape(n.reason)}</li>"
                        for n in content.nearest)
        yield "</ul>"
    if content.claims:
        yield from _claims(content, marks)
    if content.team is not None:
        yield "<h2>Team</h2>"
        rows = tuple((m.role, m.agent, m.margin if m.margin is not None else "no other agent")
                     for m in content.team.members)
        yield from _table(Table(title="", columns=("role", "agent", "margin over the runner-up"), rows=rows))
        yield (f"<p>Predicted utility {number(content.team.utility)}; no team exceeds "
               f"{number(content.team.upper_bound.value)} ({escape(content.team.upper_bound.name)}). "
               "Qualities are priors unless the card says otherwise.</p>")
    if about["reenlisted"]:
        yield "<h2>Agents that were replaced</h2>"
        yield from _table(replacements(about))
    if content.superseded:
        yield "<h2>Claims that were refuted and made anew</h2><ul>"
        yield from (f"<li>{escape(c.finding.text)}: {escape('; '.join(k.reason for k in c.checks))}</li>"
                    for c in content.superseded)
        yield "</ul>"
    if content.notes:
        yield "<h2>Notes</h2><ul>" + "".join(f"<li>{escape(n)}</li>" for n in content.notes) + "</ul>"
    yield "<h2>This run</h2><ul>" + "".join(f"<li>{escape(li)}</li>" for li in about_lines(content, about)) + "</ul>"


def _sentence(sentence: Sentence, marks: dict[str, str]) -> str:
    cited = ", ".join(f'<a href="#{marks[f]}">{marks[f]}</a>' for f in sentence.findings if f in marks)
    return escape(sentence.text) + (f" [{cited}]" if cited else "")


def _section(section: Section, marks: dict[str, str]) -> Iterator[str]:
    yield f"<h2>{escape(section.title)}</h2>"
    if section.assumptions:
        items = "".join(f"<li>{escape(s.text)}</li>" for s in section.assumptions)
        yield f'<div class="assumed"><p>Assumptions:</p><ul>{items}</ul></div>'
    yield "<ul>" + "".join(f"<li>{_sentence(s, marks)}</li>" for s in section.lead) + "</ul>"
    for figure in section.figures:
        yield f"<figure>{figure.svg}<figcaption>{escape(figure.title)}</figcaption></figure>"
    for table in section.tables:
        yield from _table(table)
    if section.notes:
        yield "<ul>" + "".join(f"<li>{escape(n)}</li>" for n in section.notes) + "</ul>"
    if section.next:
        yield f"<p>What would tell more:</p><pre>{escape(section.next)}</pre>"


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"<h3>{escape(table.title)}</h3>"
    yield "<table><tr>" + "".join(f"<th>{escape(c)}</th>" for c in table.columns) + "</tr>"
    for row in table.rows:
        cells = (f'<td class="n">{number(c)}</td>' if isinstance(c, int | float) else f"<td>{escape(c or '')}</td>"
                 for c in row)
        yield "<tr>" + "".join(cells) + "</tr>"
    yield "</table>"


def _claims(content: Content, marks: dict[str, str]) -> Iterator[str]:
    yield ("<h2>Claims and evidence</h2><table><tr><th></th><th>claim</th><th>how known</th><th>check</th>"
           "<th>evidence</th></tr>")
    for claim in content.claims:
        found, mark = claim.finding, marks[claim.finding.id]
        reasons = "; ".join(f"{c.route}: {c.reason}" for c in claim.checks)
        evidence = "; ".join(describe_evidence(e) for e in found.evidence)
        yield (f'<tr id="{mark}"><td>{mark}</td><td>{escape(found.text)}</td><td>{escape(found.tier)}</td>'
               f'<td class="{claim.status}">{claim.status}<br>{escape(reasons)}</td><td>{escape(evidence)}</td></tr>')
    yield "</table>"
