"""What the writer does: render, join, and check that nothing was added.

Each tool renders its own outputs (`Tool.section`). Sentences that rest on a refuted claim are marked or dropped. A
language model, where one is configured, may smooth sentences; a wording that says anything else is refused
(`wording.py`).
"""

from collections.abc import Mapping
from typing import Any

from enlist.agents.calls import declared
from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.agents.writing.rewording import reword
from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Section
from enlist.tools.runtime.tool import load

REFUTED_TABLES = "REFUTED claims rest on the same outputs as these tables: do not rely on them."
REFUTED = " (REFUTED by the verifier: do not rely on this)"


def act(work: Work, state: State) -> Draft:
    """The sections of the report."""
    verdicts = {c.finding: c.status for c in work.upstream_checks()}
    refuted = {f for f, status in verdicts.items() if status == "refuted"}
    sections = _sections(work)
    if work.knobs["wording"] == "model":
        sections = reword(work, sections, refuted)
    sections = [_finish(work, section, refuted) for section in sections]
    if work.knobs["order"] == "title":
        sections.sort(key=lambda s: s.title)
    return Draft(data={"sections": [s.model_dump(mode="json") for s in sections]})


def check(work: Work, state: State) -> list[str]:
    """Complaints: sentences that cite a finding which nobody made."""
    known = {f.id for f in work.upstream_findings()}
    sections = [Section.model_validate(s) for s in state["draft"].data["sections"]]
    return [f"a sentence cites an unknown finding: {sentence.text}" for section in sections
            for sentence in (*section.assumptions, *section.lead) if not set(sentence.findings) <= known]


def _sections(work: Work) -> list[Section]:
    """The sections that the upstream tools render, one for each tool, in the order of their first call."""
    outcomes: dict[str, list[Mapping[str, Any]]] = {}
    for _, outcome in work.upstream_outcomes():
        outcomes.setdefault(outcome["tool"], []).append(outcome)
    found: list[Section] = []
    for name, calls in sorted(outcomes.items()):
        tool = declared(name)
        if tool.section is None:
            continue
        calls = sorted(calls, key=lambda c: c["step"])
        parsed = [(tool.parse(c["input"]), tool.parse_output(c["output"]),
                   tuple(Finding.model_validate(f) for f in c["findings"])) for c in calls]
        names = {a["ref"]["sha256"]: a["ref"]["name"] for a in work.request["attachments"]}
        found.extend(load(tool.section)(parsed, work.request, names))
    return found


def _finish(work: Work, section: Section, refuted: set[str]) -> Section:
    """A section with the agent's knobs applied."""
    rows = int(work.knobs["rows"] or 0)
    tables = tuple(t.model_copy(update={"rows": t.rows[:rows], "title": t.title + (
        f" (first {rows} of {len(t.rows)})" if len(t.rows) > rows else "")}) for t in section.tables)
    lead = []
    for sentence in section.lead:
        doubted = bool(refuted.intersection(sentence.findings))
        if doubted and work.knobs["refuted"] == "drop":
            work.note("sentences that rest on refuted claims were left out")
            continue
        lead.append(sentence.model_copy(update={"text": sentence.text + REFUTED}) if doubted else sentence)
    cited = {f for sentence in section.lead for f in sentence.findings}
    doubt = (REFUTED_TABLES,) if cited & refuted else ()
    return section.model_copy(update={"lead": tuple(lead), "tables": tables, "notes": (*doubt, *section.notes),
                                      "figures": section.figures if work.knobs["figures"] else ()})
