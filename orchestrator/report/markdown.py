"""The report as Markdown: the answer first, then assumptions, tables, evidence, team and what is not known.

Text that comes from a user or a file is escaped, so that it cannot become markup.
"""

import re
from collections.abc import Iterator
from typing import Any

from enlist.orchestrator.report.content import Claim, Content
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

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def escape(text: str) -> str:
    """`text` as literal Markdown on one line."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))


def render_markdown(content: Content, status: str, about: dict[str, Any]) -> str:
    """The whole report."""
    return "\n".join(_lines(content, status, about)).rstrip() + "\n"


def _lines(content: Content, status: str, about: dict[str, Any]) -> Iterator[str]:
    marks = {claim.finding.id: f"F{n}" for n, claim in enumerate(content.claims, 1)}
    yield f"# {escape(shorten(content.request.text, 120))}"
    yield ""
    yield headline(content, status)
    yield ""
    for section in content.sections:
        yield from _section(section, marks)
    if content.missing or content.unfinished or content.plan is None:
        yield from _gaps(content)
    if content.claims:
        yield from _evidence(content.claims, marks)
    if content.team is not None:
        yield from _team(content)
    if about["reenlisted"]:
        yield from ["## Agents that were replaced", ""]
        yield from _rows(replacements(about))
    if content.superseded:
        yield from ["## Claims that were refuted and made anew", ""]
        yield from (f"- {escape(c.finding.text)}: {escape('; '.join(k.reason for k in c.checks))}"
                    for c in content.superseded)
        yield ""
    if content.notes:
        yield from ["## Notes", "", *(f"- {escape(note)}" for note in content.notes), ""]
    yield from ["## This run", "", *(f"- {escape(line)}" for line in about_lines(content, about))]


def _sentence(sentence: Sentence, marks: dict[str, str]) -> str:
    cited = ", ".join(marks[f] for f in sentence.findings if f in marks)
    return escape(sentence.text) + (f" [{cited}]" if cited else "")


def _section(section: Section, marks: dict[str, str]) -> Iterator[str]:
    yield from [f"## {escape(section.title)}", ""]
    if section.assumptions:
        yield from ["Assumptions:", "", *(f"- {escape(s.text)}" for s in section.assumptions), ""]
    yield from [*(f"- {_sentence(s, marks)}" for s in section.lead), ""]
    for table in section.tables:
        yield from _table(table)
    yield from [f"- {escape(note)}" for note in section.notes]
    if section.notes:
        yield ""
    if section.next:
        yield from ["What would tell more:", "", *(f"    {printable(line)}" for line in section.next.split("\n")), ""]


def _table(table: Table) -> Iterator[str]:
    yield from [f"### {escape(table.title)}", ""]
    yield from _rows(table)


def _rows(table: Table) -> Iterator[str]:
    yield "| " + " | ".join(escape(c) for c in table.columns) + " |"
    yield "|" + " --- |" * len(table.columns)
    for row in table.rows:
        yield "| " + " | ".join(number(c) if isinstance(c, int | float) else escape(c or "") for c in row) + " |"
    yield ""


def _gaps(content: Content) -> Iterator[str]:
    yield from ["## What is missing", ""]
    for missing in content.missing:
        yield f"- {escape(missing.capability)}: {escape(missing.reason)}"
    for role in content.unfinished:
        yield f"- {escape(give_up(role))}"
    if content.plan is None:
        for near in content.nearest:
            yield f"- nearest: {escape(near.capability)} ({near.status}, {near.score:.2f}): {escape(near.reason)}"
    yield ""


def _evidence(claims: tuple[Claim, ...], marks: dict[str, str]) -> Iterator[str]:
    yield from ["## Claims and evidence", "", "| | claim | how known | check | evidence |",
                "| --- | --- | --- | --- | --- |"]
    for claim in claims:
        found = claim.finding
        verdict = f"{claim.status} ({'; '.join(sorted({c.route for c in claim.checks}))})"
        evidence = "; ".join(describe_evidence(e) for e in found.evidence)
        yield f"| {marks[found.id]} | {escape(found.text)} | {found.tier} | {escape(verdict)} | {escape(evidence)} |"
    yield ""
    for claim in claims:
        if claim.status != "confirmed":
            for check in claim.checks:
                yield f"- {marks[claim.finding.id]} {check.status}: {escape(check.reason)}"
    yield ""


def _team(content: Content) -> Iterator[str]:
    team = content.team
    if team is None:
        return
    yield from ["## Team", "", "| role | agent | margin over the runner-up |", "| --- | --- | --- |"]
    for member in team.members:
        margin = "no other agent" if member.margin is None else number(member.margin)
        yield f"| {escape(member.role)} | {escape(member.agent)} | {margin} |"
    yield ""
    yield (f"Predicted utility {number(team.utility)}; no team exceeds {number(team.upper_bound.value)} "
           f"({escape(team.upper_bound.name)}). Qualities are priors unless the card says otherwise.")
    yield ""
