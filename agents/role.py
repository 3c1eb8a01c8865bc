"""The worker of a role: build the agent, run its graph, commit how it ended.

Runs in a Ray task that holds no CPU, so that agents never starve the tools they wait for.
"""

from enlist.agents.graph import run_agent
from enlist.agents.pool import specialists
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
            with boundary(f"role {assignment.role}"):
                fill(memory, assignment)
        except EnlistError as error:
            if error.code != "stale_attempt":
                _commit(memory, assignment, NewEvent(kind="role.failed", role=assignment.role, data={
                    "agent": assignment.agent, "error": error.to_dict()}))
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
    records = [NewRecord(kind="decision", id=f"{assignment.role}:draft", role=assignment.role,
                         data={"draft": draft.data, "notes": work.notes})]
    records += [NewRecord(kind="check", id=content_hash([assignment.role, check.model_dump(mode="json")]),
                          role=assignment.role, data=check.model_dump(mode="json"), text=check.reason)
                for check in draft.checks]
    _commit(memory, assignment, NewEvent(kind="role.finished", role=assignment.role, key=f"{assignment.role}:finished",
                                         data={"agent": assignment.agent, "rounds": rounds,
                                               "complaints": complaints}), records)


def _commit(memory: Memory, assignment: Assignment, event: NewEvent, records: list[NewRecord] | None = None) -> None:
    memory.commit(assignment.run, assignment.attempt, [event], records or ())
