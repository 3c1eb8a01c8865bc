"""The worker of a role: build the agent, run its graph, commit how it ended.

Runs in a Ray task that holds no CPU, so that agents never starve the tools they wait for. Its end is one transaction:
the event and the one `decision` record of this filling. Where the executor has ended the filling before (it showed no
sign of life, or took too long), that record is there, and nothing that this worker still wants to say is written.
"""

import time

from enlist.agents.graph import run_agent
from enlist.agents.language.provider import ModelDown
from enlist.agents.pool import specialists
from enlist.agents.signs import filling_id, whereabouts
from enlist.agents.work import Assignment, Work
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory, NewRecord


def run_role(document: str) -> None:
    """Run the role of a JSON `Assignment`. How it ended stands in the journal: `role.finished` or `role.failed`."""
    assignment = Assignment.model_validate_json(document)
    memory = open_memory(assignment.memory)
    try:
        try:
            memory.commit(assignment.run, assignment.attempt, [NewEvent(kind="note", role=assignment.role, data={
                "filling": assignment.filling, "process": whereabouts()})])
            with boundary(f"role {assignment.role}"):
                fill(memory, assignment)
        except EnlistError as error:
            if error.code != "stale_attempt":
                _end(memory, assignment, NewEvent(kind="role.failed", role=assignment.role, data={
                    "agent": assignment.agent, "filling": assignment.filling, **_told(assignment, error)}),
                    {"ended": error.code})
    finally:
        memory.close()


def fill(memory: Memory, assignment: Assignment) -> None:
    """Fill a role with an agent and commit what it made, in one transaction with `role.finished`."""
    declared = specialists().get(assignment.specialist)
    if declared is None:
        raise EnlistError("not_installed", "the enlisted agent's specialist is not installed on this node",
                          given=assignment.specialist, fix="install the same plug-ins on every node")
    work = Work(memory, assignment)
    draft, rounds, complaints = run_agent(declared, work)
    for complaint in complaints:
        work.note(f"unresolved: {complaint}")
    records = [NewRecord(kind="check", id=content_hash([assignment.role, check.model_dump(mode="json")]),
                         role=assignment.role, data=check.model_dump(mode="json"), text=check.reason)
               for check in draft.checks]
    _end(memory, assignment, NewEvent(
        kind="role.finished", role=assignment.role, key=f"{assignment.role}:finished:{assignment.filling}", data={
            "agent": assignment.agent, "filling": assignment.filling, "rounds": rounds, "complaints": complaints,
            "calls": work.called, "checks": sorted({r.id for r in records}),
            "refuted": sorted({c.finding for c in draft.checks if c.status == "refuted"})}),
        {"draft": draft.data, "notes": work.notes}, records)


def _told(assignment: Assignment, error: EnlistError) -> dict[str, object]:
    """What the journal is told of a fault: a model without answers is not the agent's; a tool that ran out of its
    role's share of the time is the role's overspending, and one that ran out of the run's time is nobody's fault."""
    if isinstance(error, ModelDown):
        return {"error": error.to_dict(), "cause": "model", "model": error.capability}
    if error.code != "timeout" or assignment.deadline is None or time.time() < assignment.deadline:
        return {"error": error.to_dict()}
    if assignment.share_seconds is None:
        return {"error": error.to_dict(), "cause": "late"}
    return {"error": EnlistError(
        "budget_exhausted", f"role {assignment.role} took more than its share of the run's time",
        allowed=f"{assignment.share_seconds:.1f} s; the roles after it need the rest",
        fix="give a larger --budget-seconds", details=error.sentence()).to_dict()}


def _end(memory: Memory, assignment: Assignment, event: NewEvent, decision: dict[str, object],
         records: list[NewRecord] | None = None) -> None:
    """End the filling, unless somebody else has."""
    id = filling_id(assignment.role, assignment.filling)
    if memory.record("decision", assignment.run, id) is None:
        memory.commit(assignment.run, assignment.attempt, [event], [
            NewRecord(kind="decision", id=id, role=assignment.role, data={"by": "worker", **decision}),
            *(records or ())])
