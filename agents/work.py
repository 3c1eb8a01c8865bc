"""A role's work: what the agent that fills the role may read, call and hand on.

An agent reads its own attachments, the findings and outcomes of upstream roles, and nothing else.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from enlist.agents.calls import Call, Outcome, call_tool, declared
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.findings import Check, Finding, Scalar
from enlist.tools.runtime.memory.protocol import Memory


class Input(BaseModel):
    """An attachment as a role sees it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ref: ArtifactRef
    kinds: tuple[str, ...]


class Assignment(BaseModel):
    """All that a role's worker is told, as one JSON document.

    `request` is the request's JSON (its models live above this room), `upstream` the roles that may be read, and
    `capabilities` the capability of each of them ("" for none).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: str
    run: str
    attempt: int
    role: str
    capability: str
    agent: str
    specialist: str
    knobs: dict[str, Scalar]
    inputs: tuple[Input, ...]
    upstream: dict[str, str]
    request: dict[str, Any]
    deadline: float | None = None


@dataclass(frozen=True)
class Work:
    """The hands of an agent in its role."""

    memory: Memory
    assignment: Assignment
    notes: list[str] = field(default_factory=list)

    @property
    def knobs(self) -> Mapping[str, Scalar]:
        return self.assignment.knobs

    @property
    def request(self) -> Mapping[str, Any]:
        return self.assignment.request

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.assignment.inputs

    def call(self, tool: str, step: str, data: Mapping[str, Any], limit: float | None = None) -> Outcome:
        """Call a tool; a call that this role finished before, in this run, is answered from the journal.

        `limit` is wall seconds, at most the tool's own; the knob `time_limit` of the agent holds as well.
        """
        mine = self.assignment
        limits = [declared(tool).time_limit, *(x for x in (limit, mine.knobs.get("time_limit"))
                                               if isinstance(x, int | float))]
        return call_tool(self.memory, Call(
            memory=mine.memory, run=mine.run, attempt=mine.attempt, role=mine.role, agent=mine.agent, step=step,
            capability=mine.capability, tool=tool, input=dict(data), limit=min(limits), deadline=mine.deadline))

    def out_of_time(self) -> bool:
        """Whether the run's deadline has passed."""
        return self.assignment.deadline is not None and time.time() >= self.assignment.deadline

    def upstream_findings(self) -> list[Finding]:
        """Findings of the roles upstream, in order of their making."""
        return [Finding.model_validate(r.data) for r in self._upstream("finding")]

    def upstream_checks(self) -> list[Check]:
        """Checks of the roles upstream."""
        return [Check.model_validate(r.data) for r in self._upstream("check")]

    def upstream_outcomes(self, tool: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """(role, outcome) of tool calls of the roles upstream, of one tool where named; the outcome is the stored
        document with keys tool, version, step, input, output, findings."""
        return [(r.role or "", r.data) for r in self._upstream("outcome") if tool in (None, r.data["tool"])]

    def upstream_notes(self) -> list[tuple[str, str]]:
        """(role, note) pairs that the roles upstream left."""
        return [(r.role or "", str(note)) for r in self._upstream("decision") for note in r.data.get("notes", ())]

    def note(self, text: str) -> None:
        """Leave a note for the report: what was tried, changed or not possible. States no fact of the matter."""
        if text not in self.notes:
            self.notes.append(text)

    def _upstream(self, kind: str) -> Sequence[Any]:
        roles = sorted(self.assignment.upstream)
        return self.memory.records(kind, self.assignment.run, roles) if roles else []
