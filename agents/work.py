"""A role's work: what the agent that fills the role may read, call and hand on.

An agent reads its own attachments, the findings and outcomes of upstream roles, and nothing else. Of an upstream role
that finished it reads what the last finished filling handed on: claims that were refuted and made anew are put aside.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict

from enlist.agents.calls import Call, Outcome, call_tool, declared
from enlist.agents.language.settings import ModelSettings
from enlist.agents.signs import Pulse, filling_id
from enlist.agents.spending import Account
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.findings import Check, Finding, Scalar
from enlist.tools.runtime.memory.protocol import BudgetKind, Memory, Record, RecordKind


class Input(BaseModel):
    """An attachment as a role sees it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ref: ArtifactRef
    kinds: tuple[str, ...]


class Handed(BaseModel):
    """What a filling of an upstream role handed on: ids of its tool calls and of its checks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filling: int
    calls: tuple[str, ...]
    checks: tuple[str, ...]


class Assignment(BaseModel):
    """All that a role's worker is told, as one JSON document.

    Attributes:
        request: the request's JSON (its models live above this room).
        upstream: the roles that may be read, with the capability of each ("" for none).
        handed: what those of them handed on that finished.
        filling: the number of this filling of the role, from 1. rework: how often the role's claims were refuted;
            corrects: the ids of those claims.
        deadline: seconds since 1970; where `share_seconds` is not None it is the end of the role's share of the time,
            else of the run's. shares: of tokens and US dollars.
        avoid: nodes that do not answer.
        models: the language models of the run, without their keys; model_replay: as the setting of that name.
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
    handed: dict[str, Handed] = {}
    filling: int = 1
    rework: int = 0
    corrects: tuple[str, ...] = ()
    share_seconds: float | None = None
    shares: dict[BudgetKind, float] = {}
    avoid: tuple[str, ...] = ()
    models: tuple[ModelSettings, ...] = ()
    model_replay: str = ""


@dataclass(frozen=True)
class Work:
    """The hands of an agent in its role; `called` are the keys of the calls whose outcomes it has seen."""

    memory: Memory
    assignment: Assignment
    notes: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

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
        done = call_tool(self.memory, Call(
            memory=mine.memory, run=mine.run, attempt=mine.attempt, role=mine.role, agent=mine.agent, step=step,
            capability=mine.capability, tool=tool, input=dict(data), limit=min(limits), deadline=mine.deadline,
            filling=mine.filling, rework=mine.rework, corrects=mine.corrects, avoid=mine.avoid))
        if done.key not in self.called:
            self.called.append(done.key)
        return done

    @cached_property
    def account(self) -> Account:
        """Where the role's tokens and dollars are reserved before a call and settled after it."""
        mine = self.assignment
        return Account(self.memory, mine.run, mine.attempt, mine.role, mine.filling, mine.shares)

    def alive(self, what: str) -> None:
        """Give a sign of life, one in five seconds at most; `what` is what goes on. An agent that works for long
        without a tool, as with a model that thinks, is else taken for stalled."""
        self._pulse.beat(what)

    @cached_property
    def _pulse(self) -> Pulse:
        mine = self.assignment
        return Pulse(self.memory, mine.run, mine.attempt, mine.role)

    def out_of_time(self) -> bool:
        """Whether the deadline has passed: of the run, or of the role's share of its time."""
        return self.assignment.deadline is not None and time.time() >= self.assignment.deadline

    def upstream_findings(self) -> list[Finding]:
        """Findings of the roles upstream, in order of their making."""
        handed = {f["id"] for r in self._upstream("outcome") for f in r.data["findings"]}
        return [Finding.model_validate(r.data) for r in self._upstream("finding")
                if r.role not in self.assignment.handed or r.id in handed]

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

    def _upstream(self, kind: RecordKind) -> list[Record]:
        """Records of the roles upstream; of a role that finished, those that it handed on."""
        roles = sorted(self.assignment.upstream)
        return [r for r in self.memory.records(kind, self.assignment.run, roles) if self._in_force(kind, r)
                ] if roles else []

    def _in_force(self, kind: RecordKind, record: Record) -> bool:
        handed = self.assignment.handed.get(record.role or "")
        if handed is None:
            return True
        if kind == "decision":
            return record.id == filling_id(record.role or "", handed.filling)
        return kind == "finding" or record.id in (handed.calls if kind == "outcome" else handed.checks)
