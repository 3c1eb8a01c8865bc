"""Words that the Markdown and the HTML report share."""

import re
from typing import Any

from enlist.orchestrator.report.content import Content, Unfinished
from enlist.tools.runtime.findings import ArtifactEvidence, Evidence, RequestEvidence
from enlist.tools.runtime.section import Table

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` with control characters, direction marks and surrogates as U+FFFD: a report is read in terminals too."""
    return _UNSEEN.sub("\ufffd", text)


HEADLINES = {
    "done": "Every role finished.",
    "partial": "Partial: some of what was asked for is missing; see below.",
    "failed": "Failed: see what is missing below.",
    "budget": "The budget was spent before the end; what was found stands below.",
}


def headline(content: Content, status: str) -> str:
    """One line on how the run ended."""
    refuted = sum(c.status == "refuted" for c in content.claims)
    unchecked = sum(c.status == "not_checked" for c in content.claims)
    line = HEADLINES.get(status, status)
    if content.claims:
        line += (f" {len(content.claims)} claims: {len(content.claims) - refuted - unchecked} confirmed, "
                 f"{refuted} refuted, {unchecked} not checked.")
    return line


def give_up(role: Unfinished) -> str:
    """Why a role gave up, and what to do."""
    return (f"{role.role} gave up ({role.code}): {role.message}" + (f"; given: {role.given}" if role.given else "")
            + (f". To fix: {role.fix}" if role.fix else "") + ".")


def number(value: float | int) -> str:
    """A number for people: four significant digits, integers in full."""
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def shorten(text: str, length: int) -> str:
    """`text` on one line, at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length - 1] + "…"


def describe_evidence(evidence: Evidence) -> str:
    """Where a claim comes from, in a few words."""
    if isinstance(evidence, ArtifactEvidence):
        where = f" {evidence.selector.kind} {evidence.selector.value}".rstrip()
        return f"{evidence.artifact.name}{where} ({evidence.artifact.sha256[:8]})"
    if isinstance(evidence, RequestEvidence):
        return f"the request: “{evidence.quote}”"
    return f"{evidence.tool}@{evidence.version} on input {evidence.input_sha256[:8]}{evidence.pointer}"


def about_lines(content: Content, about: dict[str, Any]) -> list[str]:
    """What is to say of the run itself: id, cost, sandbox, pins."""
    cost = about["cost"]
    levels = ", ".join(f"{tool} at level {level}" for tool, level in about["sandbox"].items()) or "nothing"
    spent = f"{cost['seconds']:.1f} s, {cost['tokens']:.0f} tokens, {cost['usd']:.2f} USD"
    return [f"run {about['id']}, {about['attempts']} attempt(s), {spent}", f"run in a sandbox: {levels}",
            f"seed {content.pins.get('seed')}, snapshot {content.pins.get('snapshot')}, Enlist {about['enlist']}"]


CAUSES = {"fault": "failed", "stalled": "showed no sign of life", "overspent": "spent more than its share",
          "refuted": "made claims that were refuted", "model": "asked a model that gave no answer"}


def replacements(about: dict[str, Any]) -> Table:
    """Who was replaced by whom, why, in which attempt, and what the one that was replaced had cost."""
    rows = []
    for change in about["reenlisted"]:
        cost = change["cost"]
        spent = f"{cost['seconds']:.1f} s, {cost['tokens']:.0f} tokens, {cost['usd']:.2f} USD"
        rows.append((change["role"], change["replaced"], change["by"], CAUSES[change["cause"]], change["reason"],
                     change["attempt"], spent))
    return Table(title="", rows=tuple(rows),
                 columns=("role", "replaced", "by", "because it", "what happened", "attempt", "it had cost"))
