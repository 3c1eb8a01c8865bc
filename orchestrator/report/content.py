"""The content of a report, assembled from the journal and the records: identical for the same inputs, seed, snapshot
and versions. Nothing of a run's id, times, machine or attempts is in it."""

from typing import Any

from pydantic import Field

from enlist.orchestrator.plan import Missing, Nearest, Plan, Planning
from enlist.orchestrator.request import Constraints, Measurement, Request, Strict
from enlist.orchestrator.state import RunState
from enlist.orchestrator.team import Team
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Check, CheckStatus, Finding
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.section import Section

UNCHECKED = "no verifier reached this claim"


class Attached(Strict):
    """An attachment as the report names it."""

    ref: ArtifactRef
    kinds: tuple[str, ...]
    note: str | None = None


class Asked(Strict):
    """The request as understood."""

    text: str
    attachments: tuple[Attached, ...]
    measurements: tuple[Measurement, ...]
    constraints: Constraints


class Claim(Strict):
    """A finding with the verdicts on it; `status` is refuted where one refutes, else confirmed where one
    confirms, else not_checked."""

    finding: Finding
    status: CheckStatus
    checks: tuple[Check, ...]


class Unfinished(Strict):
    """A role that gave up, and why."""

    role: str
    code: str
    message: str
    given: str | None = None
    fix: str | None = None


class Content(Strict):
    """Everything that the report says."""

    request: Asked
    plan: Plan | None
    missing: tuple[Missing, ...]
    nearest: tuple[Nearest, ...]
    team: Team | None
    sections: tuple[Section, ...] = ()
    claims: tuple[Claim, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    notes: tuple[str, ...] = ()
    pins: dict[str, Any] = Field(default_factory=dict)


def assemble(memory: Memory, state: RunState) -> Content:
    """The content of a run whose roles have ended."""
    request, planning = state.request, state.planning
    if request is None or planning is None:
        raise EnlistError("internal", "a run without request or plan has no report", given=state.run)
    drafts = {r.role or "": r.data for r in memory.records("decision", state.run)}
    writer = next((role.id for role in planning.plan.roles if role.duty == "writer"), None) if planning.plan else None
    written = drafts.get(writer or "", {}).get("draft", {})
    sections = tuple(Section.model_validate(s) for s in written.get("sections", ()))
    return Content(
        request=Asked(text=request.text, measurements=request.measurements, constraints=request.constraints,
                      attachments=tuple(Attached(ref=a.ref, kinds=a.kinds, note=a.note) for a in request.attachments)),
        plan=planning.plan, missing=planning.missing, nearest=planning.nearest, team=_team_in_force(state),
        sections=sections, claims=claims_of(memory, state.run),
        unfinished=tuple(Unfinished(role=role, code=e.code, message=e.message, given=e.given, fix=e.fix)
                         for role, e in sorted(state.given_up.items())),
        notes=(*(f"{role}: {note}" for role, data in sorted(drafts.items()) for note in data.get("notes", ())),
               *_unread(request, planning)),
        pins=state.pins)


def claims_of(memory: Memory, run: str) -> tuple[Claim, ...]:
    """All findings of a run with their checks, sorted by subject, predicate and id; superseded ones are left out."""
    findings = [Finding.model_validate(r.data) for r in memory.records("finding", run)]
    checks: dict[str, list[Check]] = {}
    for record in memory.records("check", run):
        check = Check.model_validate(record.data)
        checks.setdefault(check.finding, []).append(check)
    replaced = {f.supersedes for f in findings}
    made = []
    for finding in sorted(findings, key=lambda f: (f.capability, f.subject, f.predicate, f.id)):
        if finding.id in replaced:
            continue
        verdicts = tuple(sorted(checks.get(finding.id, ()), key=lambda c: (c.route, c.status, c.reason))) or (
            Check(finding=finding.id, status="not_checked", route="none", reason=UNCHECKED),)
        statuses = {v.status for v in verdicts}
        worst: CheckStatus = ("refuted" if "refuted" in statuses
                              else "confirmed" if "confirmed" in statuses else "not_checked")
        made.append(Claim(finding=finding, status=worst, checks=verdicts))
    return tuple(made)


def _unread(request: Request, planning: Planning) -> list[str]:
    """A note for each attachment that no role works on."""
    read = {sha for role in planning.plan.roles for sha in role.inputs} if planning.plan else set()
    return [f"attachment {a.ref.name!r} was not read: " + (a.note or (
        f"it looks like {', '.join(a.kinds)}, which nothing asked for here reads" if a.kinds
        else "its content is of no known kind")) for a in request.attachments if a.ref.sha256 not in read]


def _team_in_force(state: RunState) -> Team | None:
    if state.team is None:
        return None
    return state.team.model_copy(update={"members": tuple(state.members[m.role] for m in state.team.members)})
