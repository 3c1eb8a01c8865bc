"""The state of a run, folded out of its journal: the one place that says what each event means for what comes next.

A role is filled one or more times. What its last finished filling handed on is in force: a role is finished while that
was made from what is in force of the roles above it. So where claims are refuted and their analyst is replaced, what
was built upon them is open again by itself as soon as the new analyst has finished, and stands if it never does.
"""

from collections import Counter, defaultdict
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

Cause = Literal["fault", "late", "stalled", "overspent", "refuted", "model"]
"""What ended an agent's work: a fault, the end of the run's time, no sign of life, more spent than the role's share; or
its claims were refuted; or its language model gave no answer."""


@dataclass(frozen=True)
class Failure:
    """A failed filling of a role: by which agent, with which fault."""

    role: str
    agent: str
    error: EnlistError
    cause: Cause = "fault"


@dataclass(frozen=True)
class Handover:
    """What a finished filling handed on; `began`, `ended` are its places in the journal.

    Attributes:
        calls, checks: ids of its tool calls and checks. refuted: ids of the findings that its checks refute.
    """

    filling: int
    agent: str
    began: int
    ended: int
    calls: tuple[str, ...]
    checks: tuple[str, ...]
    refuted: tuple[str, ...]


@dataclass
class Filling:
    """One filling of a role, for its cost: times are seconds since 1970, `spent` tokens and dollars.

    `processes` are the processes that worked for it, `calls` the tool calls under way: seconds each may take, None for
    one whose worker gives signs of life meanwhile. `closed`: its end stands in the journal.
    """

    number: int
    agent: str
    began: int
    start: float
    end: float
    spent: Counter[str] = field(default_factory=Counter)
    processes: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, float | None] = field(default_factory=dict)
    closed: bool = False

    def seconds(self) -> float:
        """Wall seconds, 0 where the clocks of driver and worker disagree by more."""
        return max(0.0, self.end - self.start)


@dataclass
class RunState:
    """What the journal says so far.

    Attributes:
        members: the agent now enlisted for each role; `reenlisted` the replacements so far, as JSON.
        fillings: all fillings of each role that were begun.
        handed: what the last finished filling of each role handed on.
        reworked: roles whose claims were refuted and that another agent fills anew, with the member before.
        kept: fillings whose claims were refuted and that nobody redoes, with the reason.
        failures: all failed fillings of roles, in order. pending: roles of which the last filling failed, and what
            follows is not decided yet. given_up: roles that nobody else will try.
        waiting: those given up for want of budget, or of what they work on: open again when the run goes on.
        down: model capabilities that gave no answer in this attempt.
        findings: ids of the findings of each finished tool call.
        pins: seed, snapshot and versions that the run was made with.
    """

    run: str
    status: Status = "accepted"
    request: Request | None = None
    planning: Planning | None = None
    team: Team | None = None
    pins: dict[str, Any] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    fillings: defaultdict[str, list[Filling]] = field(default_factory=lambda: defaultdict(list))
    handed: dict[str, Handover] = field(default_factory=dict)
    reworked: dict[str, Member] = field(default_factory=dict)
    kept: dict[tuple[str, int], str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    pending: set[str] = field(default_factory=set)
    given_up: dict[str, EnlistError] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    findings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reenlisted: list[dict[str, Any]] = field(default_factory=list)
    last_seq: int = 0
    reported: dict[str, Any] | None = None
    _above: dict[str, tuple[str, ...]] = field(default_factory=dict)

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

    @property
    def started(self) -> set[str]:
        """Roles that an agent has begun."""
        return {role for role, fillings in self.fillings.items() if fillings}

    @property
    def finished(self) -> set[str]:
        """Roles whose last finished filling is in force."""
        return {role for role, mine in self.handed.items() if role not in self.reworked and all(
            self.handed[r].ended < mine.began for r in self._above.get(role, ()) if r in self.handed)}

    def settled(self, role: str) -> bool:
        return role in self.given_up or role in self.finished

    def failures_of(self, role: str, agent: str | None = None) -> list[Failure]:
        return [f for f in self.failures if f.role == role and agent in (None, f.agent)]

    def claims(self, role: str) -> tuple[str, ...]:
        """Ids of the findings that a role's last finished filling handed on."""
        mine = self.handed.get(role)
        return tuple(dict.fromkeys(f for key in mine.calls for f in self.findings.get(key, ()))) if mine else ()

    def refuted(self, role: str) -> tuple[str, ...]:
        """Those of a role's claims that a finished role refutes."""
        against = {f for other in self.finished for f in self.handed[other].refuted}
        return tuple(f for f in self.claims(role) if f in against)

    def rework(self, role: str) -> int:
        """How often a role was given to another agent because its claims were refuted."""
        return sum(change["role"] == role and change["cause"] == "refuted" for change in self.reenlisted)

    def _fold(self, event: Event) -> None:
        data, role = event.data, event.role or ""
        if event.kind in ("role.started", "role.finished", "role.failed", "role.reenlisted"):
            self.pending.discard(role)
        match event.kind:
            case "run.accepted":
                self.request, self.pins = Request.model_validate(data["request"]), data["pins"]
            case "run.planned":
                self.planning = Planning.model_validate(data["planning"])
                self.team = Team.model_validate(data["team"]) if data["team"] else None
                self.pins = {**self.pins, **data["pins"]}
                self.members = {m.role: m for m in self.team.members} if self.team else {}
                plan = self.planning.plan
                self._above = {r.id: plan.upstream(r.id) for r in plan.roles} if plan else {}
            case "attempt.opened":
                self.status = "running"
                for name in self.waiting:
                    self.given_up.pop(name, None)
                self.waiting.clear()
                self.down.clear()
            case "role.started":
                self.fillings[role].append(Filling(len(self.fillings[role]) + 1, data.get("agent", ""), event.seq,
                                                   event.time, event.time))
            case "role.finished":
                self._finish(role, event)
            case "role.failed":
                self._fail(role, event)
            case "role.reenlisted":
                self._reenlist(role, event)
            case "tool.started" | "tool.finished" | "tool.failed" | "note":
                self._work(role, event)
            case "report.finished":
                self.reported = data
            case "run.interrupted" | "run.finished":
                self.status = "interrupted" if event.kind == "run.interrupted" else data["status"]

    def _finish(self, role: str, event: Event) -> None:
        last = self._close(role, event)
        self.handed[role] = Handover(
            last.number if last else 1, event.data.get("agent", ""), last.began if last else event.seq, event.seq,
            *(tuple(event.data.get(name, ())) for name in ("calls", "checks", "refuted")))
        self.reworked.pop(role, None)
        self.given_up.pop(role, None)

    def _fail(self, role: str, event: Event) -> None:
        data = event.data
        error = EnlistError.from_dict(data["error"])
        if not data.get("final"):
            self._close(role, event)
            cause: Cause = data.get("cause") or ("overspent" if error.code == "budget_exhausted" else "fault")
            self.failures.append(Failure(role, data["agent"], error, cause))
            if cause == "model":
                self.down.add(data["model"])
            if cause != "late":  # what fails for want of the run's time is open when the run goes on
                self.pending.add(role)
        elif role in self.reworked:  # what was there before stands, refuted as it is
            self.members[role] = self.reworked.pop(role)
            self.kept[role, self.handed[role].filling] = error.message
        else:
            self.given_up[role] = error
            if error.code == "budget_exhausted" or data.get("nothing_to_do"):
                self.waiting.add(role)

    def _reenlist(self, role: str, event: Event) -> None:
        data = event.data
        cause = data.get("cause", "fault")
        if cause == "refuted":
            self.reworked[role] = self.members[role]
        self.members[role] = Member.model_validate(data["member"])
        self.reenlisted.append({"role": role, "replaced": data["replaced"], "by": data["by"], "cause": cause,
                                "reason": data["reason"], "attempt": event.attempt,
                                "cost": self._cost(role, data["replaced"]), "refuted": data.get("refuted", [])})

    def _cost(self, role: str, agent: str) -> dict[str, float]:
        """What an agent's fillings of a role have cost."""
        mine = [filling for filling in self.fillings[role] if filling.agent == agent]
        return {"seconds": round(sum(f.seconds() for f in mine), 3), "tokens": sum(f.spent["tokens"] for f in mine),
                "usd": sum(f.spent["usd"] for f in mine)}

    def _work(self, role: str, event: Event) -> None:
        data = event.data
        if "kept" in data:
            self.kept[role, data["kept"]] = data["text"]
        if event.kind == "tool.finished":
            self.findings[event.key or ""] = tuple(data.get("findings", ()))
        if not self.fillings[role]:
            return
        filling = self.fillings[role][data["filling"] - 1 if "filling" in data else -1]
        filling.end = max(filling.end, event.time)
        filling.spent.update(data.get("spent", {}))
        if "process" in data:
            filling.processes.append(data["process"])
        if event.kind == "tool.started":
            filling.calls[data["key"]] = data.get("limit") if data.get("isolation") == "inline" else None
        elif event.kind in ("tool.finished", "tool.failed"):
            filling.calls.pop(data.get("key", ""), None)

    def _close(self, role: str, event: Event) -> Filling | None:
        """The filling of a role that an event ends."""
        if not self.fillings[role]:
            return None
        filling = self.fillings[role][event.data.get("filling", 0) - 1]
        filling.end = max(filling.end, event.time)
        filling.calls.clear()
        filling.closed = True
        return filling
