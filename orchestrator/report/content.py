"""The content of a report, assembled from the journal and the records: identical for the same inputs, seed, snapshot
and versions. Nothing of a run's id, times, machine or attempts is in it. Of a role that finished, the claims are those
of its last finished filling; refuted ones that were made anew are kept apart."""

from typing import Any

from pydantic import Field

from enlist.agents.signs import filling_id
from enlist.orchestrator.plan import Missing, Nearest, Plan, Planning
from enlist.orchestrator.request import Constraints, Measurement, Request, Strict
from enlist.orchestrator.state import RunState
from enlist.orchestrator.team import Team
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Check, CheckStatus, Finding
from enlist.tools.runtime.memory.protocol import Memory, Record
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
    """Everything that the report says. `superseded` are claims that were refuted and that another agent made anew."""

    request: Asked
    plan: Plan | None
    missing: tuple[Missing, ...]
    nearest: tuple[Nearest, ...]
    team: Team | None
    sections: tuple[Section, ...] = ()
    claims: tuple[Claim, ...] = ()
    superseded: tuple[Claim, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    notes: tuple[str, ...] = ()
    pins: dict[str, Any] = Field(default_factory=dict)


def assemble(memory: Memory, state: RunState) -> Content:
    """The content of a run whose roles have ended."""
    request, planning = state.request, state.planning
    if request is None or planning is None:
        raise EnlistError("internal", "a run without request or plan has no report", given=state.run)
    drafts = {r.role or "": r.data for r in memory.records("decision", state.run) if _in_force(state, r)}
    claims, superseded = judged(memory, state)
    writer = next((role.id for role in planning.plan.roles if role.duty == "writer"), None) if planning.plan else None
    written = drafts.get(writer or "", {}).get("draft", {})
    sections = tuple(Section.model_validate(s) for s in written.get("sections", ()))
    return Content(
        request=Asked(text=request.text, measurements=request.measurements, constraints=request.constraints,
                      attachments=tuple(Attached(ref=a.ref, kinds=a.kinds, note=a.note) for a in request.attachments)),
        plan=planning.plan, missing=planning.missing, nearest=planning.nearest, team=_team_in_force(state),
        sections=sections, claims=claims, superseded=superseded,
        unfinished=tuple(Unfinished(role=role, code=e.code, message=e.message, given=e.given, fix=e.fix)
                         for role, e in sorted(state.given_up.items())),
        notes=(*(f"{role}: {note}" for role, data in sorted(drafts.items()) for note in data.get("notes", ())),
               *(f"{role}: {reason}" for (role, filling), reason in sorted(state.kept.items())
                 if role in state.handed and state.handed[role].filling == filling),
               *_unread(request, planning)),
        pins=state.pins)


def claims_of(memory: Memory, run: str) -> tuple[Claim, ...]:
    """The claims of a run that are in force, with their checks, sorted by subject, predicate and id."""
    return judged(memory, RunState.read(memory, run))[0]


def judged(memory: Memory, state: RunState) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """The claims in force, and those that were refuted and made anew."""
    findings = {r.id: (r.role or "", Finding.model_validate(r.data)) for r in memory.records("finding", state.run)}
    checks: dict[str, list[Check]] = {}
    latest: dict[str, list[Check]] = {}
    for record in memory.records("check", state.run):
        check = Check.model_validate(record.data)
        checks.setdefault(check.finding, []).append(check)
        if _in_force(state, record):
            latest.setdefault(check.finding, []).append(check)
    handed = {role: set(state.claims(role)) for role in state.handed}
    replaced = {f.supersedes for id, (role, f) in findings.items() if id in handed.get(role, {id})}
    valid, aside = [], []
    for id, (role, finding) in sorted(findings.items(), key=lambda item: (
            item[1][1].capability, item[1][1].subject, item[1][1].predicate, item[0])):
        if id in handed.get(role, {id}) and id not in replaced:
            valid.append(_claim(finding, latest.get(id, [])))
        elif (old := _claim(finding, checks.get(id, []))).status == "refuted":
            aside.append(old)
    return tuple(valid), tuple(aside)


def _claim(finding: Finding, checks: list[Check]) -> Claim:
    verdicts = tuple(sorted(checks, key=lambda c: (c.route, c.status, c.reason))) or (
        Check(finding=finding.id, status="not_checked", route="none", reason=UNCHECKED),)
    statuses = {v.status for v in verdicts}
    worst: CheckStatus = ("refuted" if "refuted" in statuses
                          else "confirmed" if "confirmed" in statuses else "not_checked")
    return Claim(finding=finding, status=worst, checks=verdicts)


def _in_force(state: RunState, record: Record) -> bool:
    """Whether a role's record belongs to what the role handed on last; all do of a role that never finished."""
    handed = state.handed.get(record.role or "")
    if handed is None:
        return True
    if record.kind == "check":
        return record.id in handed.checks
    return record.id == filling_id(record.role or "", handed.filling)


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
