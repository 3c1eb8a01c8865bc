"""The state of a run, folded out of its journal: the one place that says what each event means for what comes next."""

from dataclasses import dataclass, field
from typing import Any, Literal

from enlist.orchestrator.plan import Planning
from enlist.orchestrator.request import Request
from enlist.orchestrator.team import Member, Team
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event
from enlist.tools.runtime.memory.protocol import Memory

Status = Literal["accepted", "running", "done", "failed", "partial", "budget", "interrupted"]
ENDED = ("done", "failed", "partial", "budget")
EXIT_CODES: dict[str, int] = {"done": 0, "failed": 1, "partial": 1, "budget": 3, "interrupted": 130}


@dataclass(frozen=True)
class Failure:
    """A failed filling of a role: by which agent, with which fault."""

    role: str
    agent: str
    error: EnlistError


@dataclass
class RunState:
    """What the journal says so far.

    Attributes:
        members: the agent now enlisted for each role; `reenlisted` the replacements so far, as JSON.
        started: roles that an agent has begun. finished, given_up: roles that ended.
        failures: all failed fillings of roles, in order.
        pins: seed, snapshot and versions that the run was made with.
    """

    run: str
    status: Status = "accepted"
    request: Request | None = None
    planning: Planning | None = None
    team: Team | None = None
    pins: dict[str, Any] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    given_up: dict[str, EnlistError] = field(default_factory=dict)
    reenlisted: list[dict[str, Any]] = field(default_factory=list)
    last_seq: int = 0
    reported: dict[str, Any] | None = None

    @classmethod
    def read(cls, memory: Memory, run: str) -> "RunState":
        """Fold the whole journal of a run; `not_found` where there is none."""
        state = cls(run)
        state.extend(memory.events(run))
        if state.last_seq == 0:
            raise EnlistError("not_found", "no run of this id is in this store", given=repr(run),
                              allowed=", ".join(memory.runs(5)) or "the store holds no runs", fix="see `enlist runs`")
        return state

    def extend(self, events: list[Event]) -> None:
        """Fold more events."""
        for event in events:
            self._fold(event)
            self.last_seq = event.seq

    def settled(self, role: str) -> bool:
        return role in self.finished or role in self.given_up

    def failures_of(self, role: str, agent: str | None = None) -> list[Failure]:
        return [f for f in self.failures if f.role == role and agent in (None, f.agent)]

    def _fold(self, event: Event) -> None:
        data = event.data
        match event.kind:
            case "run.accepted":
                self.request, self.pins = Request.model_validate(data["request"]), data["pins"]
            case "run.planned":
                self.planning = Planning.model_validate(data["planning"])
                self.team = Team.model_validate(data["team"]) if data["team"] else None
                self.pins = {**self.pins, **data["pins"]}
                self.members = {m.role: m for m in self.team.members} if self.team else {}
            case "attempt.opened":
                self.status = "running"
            case "role.started":
                self.started.add(event.role or "")
            case "role.finished":
                self.finished.add(event.role or "")
            case "role.failed":
                error = EnlistError.from_dict(data["error"])
                if data.get("final"):
                    self.given_up[event.role or ""] = error
                else:
                    self.failures.append(Failure(event.role or "", data["agent"], error))
            case "role.reenlisted":
                self.members[event.role or ""] = Member.model_validate(data["member"])
                self.reenlisted.append({"role": event.role, **{k: data[k] for k in ("replaced", "by", "reason")}})
            case "report.finished":
                self.reported = data
            case "run.interrupted" | "run.finished":
                self.status = "interrupted" if event.kind == "run.interrupted" else data["status"]
