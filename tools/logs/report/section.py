"""The report section of logs: the answer, the timeline, the evidence, what was considered and what is not known."""

from collections.abc import Mapping, Sequence
from typing import Any

from enlist.tools.logs.report.document import title_of
from enlist.tools.logs.report.words import answer, places
from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Section, Sentence, Table


def sections(calls: Sequence[tuple[Any, Any, tuple[Finding, ...]]], request: Mapping[str, Any],
             names: Mapping[str, str]) -> list[Section]:
    """One section for each call of logs-summary."""
    return [section(output.document, found) for _, output, found in calls]


def section(document: dict[str, Any], found: Sequence[Finding]) -> Section:
    """The section of one document; every sentence of the answer rests on the findings made of it."""
    every = tuple(f.id for f in found)
    read = document["accounting"]
    tables = []
    if document["timeline"]:
        tables.append(Table(title="Timeline", columns=("time (UTC)", "service", "event", "lines"), rows=tuple(
            (e["time_utc"], e["service"], f"{e['event'].replace('_', ' ')}: {e['claim']}",
             places(document["claims"][e["evidence"]])) for e in document["timeline"])))
    if len(document["candidates"]) > 1:
        tables.append(Table(title="Candidates", columns=("component", "cause", "confidence", "why"), rows=tuple(
            (c["component"], title_of(c["cause"]), c["confidence"], c["why"][0] if c["why"] else "")
            for c in document["candidates"])))
    if document["claims"]:
        tables.append(Table(title="Evidence", columns=("claim", "lines"), rows=tuple(
            (c["text"], places(c)) for c in document["claims"] if c["verified"])))
    if document["red_herrings"]:
        tables.append(Table(title="Considered and rejected", columns=("service", "what", "why rejected"), rows=tuple(
            (h["service"], h["text"], h["why_rejected"]) for h in document["red_herrings"])))
    return Section(
        title="What happened", lead=tuple(Sentence(text=text, findings=every) for text in answer(document)),
        tables=tuple(tables),
        notes=(*(f"Not known: {text}." for text in document["unknown"]),
               f"{read['lines_read']:,} lines read, {read['records']:,} records; every line is in the accounting.",
               *(f"{one['file']}: not read, {one['reason']}" for one in read["files_skipped"]),
               *(f"{one['file']}: {one['text']}" for one in read["notes"])),
        next="enlist logs summarize FILE --around TIME looks at a window; enlist logs templates FILE lists statements")
