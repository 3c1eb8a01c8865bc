"""How the verifier works: every line that a claim cites is read again from its file's bytes."""

from typing import Any

from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.tools.logs.tool import claim_of, rows
from enlist.tools.runtime.findings import Check, Finding

ROUTE = "the cited bytes, read again"


def act(work: Work, state: State) -> Draft:
    """A check for every finding of the analysts upstream."""
    made: list[Check] = []
    by_id = {f.id: f for f in work.upstream_findings()}
    for role, outcome in work.upstream_outcomes("logs-summary"):
        found = [by_id[f["id"]] for f in outcome["findings"] if f["id"] in by_id]
        made += _checks(work, role, outcome, found, state["round"])
    return Draft(data={"checked": len(made)}, checks=tuple(made))


def check(work: Work, state: State) -> list[str]:
    """Complaints: findings without a check."""
    missing = {f.id for f in work.upstream_findings()} - {c.finding for c in state["draft"].checks}
    return [f"{len(missing)} findings have no check"] if missing else []


def _checks(work: Work, role: str, outcome: dict[str, Any], found: list[Finding], round: int) -> list[Check]:
    cited = rows(outcome["output"]["document"])
    if work.knobs["lines"] == "first":
        cited = [one for n, one in enumerate(cited) if n == 0 or cited[n - 1][0] != one[0]]
    seen: dict[int, list[tuple[bool | None, str]]] = {}
    if cited:
        output = work.call("logs-recheck", f"recheck:{role}:{round}", {
            "logs": outcome["input"]["logs"], "lines": [line for _, line in cited]}).output.model_dump()
        for (claim, _), line in zip(cited, output["lines"], strict=True):
            seen.setdefault(claim, []).append((line["holds"], line["text"]))
    made = [_of_a_claim(f, seen.get(claim_of(f), [])) for f in found if f.predicate == "logged"]
    confirmed = sum(c.status == "confirmed" for c in made)
    for finding in (f for f in found if f.predicate != "logged"):
        made.append(Check(finding=finding.id, status="not_checked", route=ROUTE, reason=(
            f"a judgement that rests on {len(made)} claims, of which {confirmed} were confirmed"
            if finding.predicate == "root cause" else "nothing that could be read again: the absence of signs")))
    return made


def _of_a_claim(finding: Finding, seen: list[tuple[bool | None, str]]) -> Check:
    wrong = [text for holds, text in seen if holds is False]
    unread = [text for holds, text in seen if holds is None]
    if wrong:
        return Check(finding=finding.id, status="refuted", route=ROUTE, reason=f"a cited line says: {wrong[0][:200]}")
    if unread or not seen:
        reason = unread[0] if unread else "it cites no line"
        return Check(finding=finding.id, status="not_checked", route=ROUTE, reason=reason)
    return Check(finding=finding.id, status="confirmed", route=ROUTE, reason=f"{len(seen)} cited lines hold it")
