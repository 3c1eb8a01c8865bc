"""The executor: starts each role when what it reads is there, and is the only one that retries.

One loop in the driver. How each filling of a role ended stands in the journal, put there by its worker, or by this loop
where the worker died, showed no sign of life or outstayed its share of the time; the loop acts on the journal alone. A
fault that may pass is tried again with the same agent; another, and claims that a verifier refutes, re-enlist the role
(`reenlist.py`). Finished tool calls are kept whoever fills the role. The plan's edges never turn back: what was built
on refuted claims is open again because the state says so (`state.py`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from enlist.agents.calls import GRACE, stop_requested
from enlist.agents.language.settings import ModelSettings
from enlist.agents.pool import P95_OVER_P50, Pool
from enlist.agents.signs import filling_id
from enlist.agents.work import Assignment, Handed, Input
from enlist.orchestrator import reenlist, shares
from enlist.orchestrator.crew import Crew, RayCrew
from enlist.orchestrator.plan import Plan
from enlist.orchestrator.state import Cause, Failure, RunState
from enlist.orchestrator.team import Member
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory.protocol import BudgetKind, Memory, NewRecord

TICK = 0.2  # seconds between two looks at the tasks and the store
DRAIN = 8.0  # seconds that running roles get to end after a stop
OVERTIME = 5.0  # most seconds beyond its share of the time after which a role that does not end by itself is ended

Watch = Callable[[list[Event]], None]


@dataclass
class Executor:
    """Drives the roles of one run.

    Attributes:
        locator: the store's locator as workers see it.
        deadline: seconds since 1970, or None.
        interrupted: tells whether this driver was asked to end (a signal, a lost lease).
        watch: is handed new events as they appear.
        crew: where roles run.
        models: the model capabilities that agents may need; providers: the models that serve them; model_replay: as
            the setting of that name.
    """

    memory: Memory
    locator: str
    run: str
    attempt: int
    pool: Pool
    models: tuple[str, ...]
    deadline: float | None
    interrupted: Callable[[], bool]
    watch: Watch
    crew: Crew = field(default_factory=RayCrew)
    providers: tuple[ModelSettings, ...] = ()
    model_replay: str = ""
    _heard: dict[str, float] = field(default_factory=dict)  # monotonic: clocks of other nodes may differ
    _ends: dict[str, tuple[float, float]] = field(default_factory=dict)  # share of the time, when force ends it

    def drive(self) -> RunState:
        """Run every role to its end.

        Raises:
            EnlistError: `cancelled` after a stop or an interruption, `budget_exhausted` after the deadline; running
                roles have ended or were cancelled by then.
        """
        state = RunState.read(self.memory, self.run)
        try:
            while True:
                self._obey(state)
                self._decide(state)
                self._rework(state)
                for role in self._ready(state, self.crew.running()):
                    self._start(state, role)
                if not self.crew.running():
                    self._refresh(state)
                    return state
                ended = self.crew.wait(TICK)
                self._refresh(state)
                for role, error in ended.items():
                    self._after(state, role, error)
                self._look_after(state)
        except EnlistError:
            self._cancel(state)
            self._refresh(state)
            raise

    def _obey(self, state: RunState) -> None:
        if self.interrupted() or stop_requested(self.memory, self.run, self.attempt):
            raise EnlistError("cancelled", "the run was stopped", fix=f"go on with `enlist resume {self.run}`")
        if self._late():
            raise EnlistError("budget_exhausted", "the run's time is spent",
                              fix=f"go on with `enlist resume {self.run} --budget-seconds N`")

    def _late(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    def _ready(self, state: RunState, running: set[str]) -> list[str]:
        """Roles whose upstream roles have ended; a verifier without a finished analyst is given up here."""
        plan, ready = _plan(state), []
        for role in plan.order():
            above = plan.upstream(role)
            if state.settled(role) or role in running or not all(state.settled(r) for r in above):
                continue
            if plan.role(role).duty != "writer" and above and not any(r in state.finished for r in above):
                self._give_up(state, role, EnlistError("unsupported", "nothing to work on: the roles before it failed",
                                                       given=", ".join(above)), nothing_to_do=True)
                return self._ready(state, running)
            ready.append(role)
        return ready

    def _start(self, state: RunState, role: str) -> None:
        assignment = self._assignment(state, role)
        self._commit(NewEvent(kind="role.started", role=role, data={
            "agent": assignment.agent, "filling": assignment.filling}))
        self._heard[role] = time.monotonic()
        self._ends.pop(role, None)
        if assignment.share_seconds is not None and assignment.deadline is not None:
            rest = (self.deadline or 0.0) - assignment.deadline
            self._ends[role] = (assignment.share_seconds, assignment.deadline + min(OVERTIME, rest / 2))
        self.crew.start(role, assignment.model_dump_json())

    def _assignment(self, state: RunState, role: str) -> Assignment:
        plan, member, request = _plan(state), state.members[role], state.request
        if request is None:
            raise EnlistError("internal", "the journal holds no request", given=self.run)
        place, at = self.pool.find(member.agent), plan.role(role)
        above = {r: state.handed[r] for r in plan.upstream(role) if r in state.finished}
        share = self._share_of_time(state, role)
        return Assignment(
            memory=self.locator, run=self.run, attempt=self.attempt, role=role, capability=at.capability or "",
            agent=member.agent, specialist=str(self.pool.specialist[place]), knobs=dict(self.pool.knobs[place]),
            inputs=tuple(Input(ref=a.ref, kinds=a.kinds) for a in request.attachments if a.ref.sha256 in at.inputs),
            upstream={r: plan.role(r).capability or "" for r in plan.upstream(role)},
            handed={r: Handed(filling=h.filling, calls=h.calls, checks=h.checks) for r, h in above.items()},
            request=request.model_dump(mode="json"), filling=len(state.fillings[role]) + 1, rework=state.rework(role),
            corrects=state.refuted(role) if role in state.reworked else (),
            deadline=self.deadline if share is None else time.time() + share, share_seconds=share,
            shares=self._shares(state, role), avoid=self.crew.avoided(), models=self.providers,
            model_replay=self.model_replay)

    def _share_of_time(self, state: RunState, role: str) -> float | None:
        if self.deadline is None:
            return None
        seconds = {r: self._median(m) for r, m in state.members.items()}
        return shares.share_of_time(self.deadline - time.time(), shares.rest(_plan(state), role, seconds),
                                    seconds[role])

    def _shares(self, state: RunState, role: str) -> dict[BudgetKind, float]:
        """The role's share of tokens and dollars, where the run has a limit of them."""
        found: dict[BudgetKind, float] = {}
        left = self._left(state)
        others = [m for r, m in state.members.items() if r != role and not state.settled(r)]
        mine = state.members[role]
        if left.usd is not None:
            found["usd"] = shares.share_of_rest(left.usd, self._usd(mine), sum(map(self._usd, others)))
        if left.tokens is not None:
            found["tokens"] = shares.share_of_rest(left.tokens, self._asks(mine), sum(map(self._asks, others)))
        return found

    def _left(self, state: RunState) -> reenlist.Left:
        def free(kind: BudgetKind) -> float | None:
            budget = self.memory.budget(self.run, kind)
            return None if budget.limit is None else max(0.0, budget.limit - budget.reserved - budget.spent)

        return reenlist.Left(seconds=None if self.deadline is None else self.deadline - time.time(),
                             tokens=free("tokens"), usd=free("usd"))

    def _median(self, member: Member) -> float:
        return float(self.pool.seconds[self.pool.find(member.agent)])

    def _usd(self, member: Member) -> float:
        return float(self.pool.usd[self.pool.find(member.agent)])

    def _asks(self, member: Member) -> float:
        """1 for an agent that asks a language model, else 0: cards state no tokens, so askers share alike."""
        return float(self.pool.model[self.pool.find(member.agent)] != "")

    def _look_after(self, state: RunState) -> None:
        """End the roles that outstay their share of the time or show no sign of life."""
        now = time.monotonic()
        for role in sorted(self.crew.running()):
            share, end = self._ends.get(role, (0.0, float("inf")))
            silent, bound = now - self._heard[role], self._silence_bound(state, role)
            if time.time() > end:
                self._end(state, role, "overspent", EnlistError(
                    "budget_exhausted", f"role {role} took more than its share of the run's time and was ended",
                    allowed=f"{share:.1f} s; the roles after it need the rest", fix="give a larger --budget-seconds"))
            elif silent > bound:
                self._end(state, role, "stalled", EnlistError(
                    "timeout", f"role {role} showed no sign of life for {silent:.0f} s and was ended",
                    allowed=f"{bound:.0f} s for an agent with this card"))

    def _silence_bound(self, state: RunState, role: str) -> float:
        filling = state.fillings[role][-1]
        if not filling.processes:
            return shares.FIRST_SIGN
        bound = shares.silence_bound(P95_OVER_P50 * self._median(state.members[role]))
        return max([bound, *(limit + GRACE for limit in filling.calls.values() if limit is not None)])

    def _end(self, state: RunState, role: str, cause: Cause, error: EnlistError) -> None:
        """End a role's filling by force, unless its worker has ended it in this moment."""
        found = self.crew.end(role, state.fillings[role][-1].processes)
        if cause == "stalled" and found == "frozen":  # not the agent's fault: its process or node was stopped
            cause, error = "fault", EnlistError("worker_died", f"the worker of role {role} was frozen and was ended")
        self._close(state, role, cause, error)

    def _close(self, state: RunState, role: str, cause: Cause, error: EnlistError) -> None:
        """Write that a filling failed and close it for its worker, unless that was first."""
        filling, agent = len(state.fillings[role]), state.members[role].agent
        try:
            self.memory.commit(self.run, self.attempt, [NewEvent(kind="role.failed", role=role, data={
                "agent": agent, "filling": filling, "cause": cause, "error": error.to_dict()})], [
                NewRecord(kind="decision", id=filling_id(role, filling), role=role,
                          data={"by": "driver", "ended": error.code})])
        except EnlistError as conflict:
            if conflict.code != "conflict":
                raise
        self._refresh(state)

    def _after(self, state: RunState, role: str, lost: EnlistError | None) -> None:
        """See to it that the end of a role's task stands in the journal, and that nothing of a lost one lives on."""
        filling = state.fillings[role][-1]
        if not filling.closed:  # the worker could not tell
            self._close(state, role, "fault", lost or EnlistError(
                "worker_died", f"the worker of role {role} ended without a word"))
        if role in state.pending and state.failures_of(role)[-1].error.code == "worker_died":
            self.crew.end(role, filling.processes)  # a tool of it may still run, or be frozen
            self.crew.look_for_silent_nodes()

    def _decide(self, state: RunState) -> None:
        """Decide what follows on failures: the same agent again, another one, or none. A run that goes on decides what
        its last driver could not."""
        for role in sorted(state.pending):
            last = state.failures_of(role)[-1]
            if not self._late() and not reenlist.tried_again(state, last):
                self._replace(state, last)

    def _replace(self, state: RunState, last: Failure) -> None:
        try:
            member = reenlist.replacement(state, _plan(state), self.pool, self.models, last, self._left(state))
        except EnlistError:
            self._give_up(state, last.role, last.error)
            return
        self._reenlist(state, last.role, last.agent, member, last.cause, f"{last.error.code}: {last.error.message}")

    def _rework(self, state: RunState) -> None:
        """Give roles whose claims are refuted to another agent, where there is one and the budget covers it."""
        for role in _plan(state).order():
            refuted = state.refuted(role) if role in state.finished else ()
            if not refuted or (role, state.handed[role].filling) in state.kept:
                continue
            handed = state.handed[role]
            try:
                member = reenlist.rework(state, _plan(state), self.pool, self.models, role, self._left(state))
            except EnlistError as error:
                self._commit(NewEvent(kind="note", role=role, key=f"kept:{role}:{handed.filling}", data={
                    "kept": handed.filling, "text": f"{len(refuted)} claims stand as refuted: {error.message}"}))
                self._refresh(state)
                continue
            self._reenlist(state, role, handed.agent, member, "refuted",
                           f"a verifier refuted {len(refuted)} of its {len(state.claims(role))} claims", refuted)

    def _reenlist(self, state: RunState, role: str, replaced: str, member: Member, cause: Cause, reason: str,
                  refuted: tuple[str, ...] = ()) -> None:
        self._commit(NewEvent(kind="role.reenlisted", role=role, data={
            "member": member.model_dump(mode="json"), "replaced": replaced, "by": member.agent, "cause": cause,
            "reason": reason, "refuted": list(refuted)}))
        self._refresh(state)

    def _give_up(self, state: RunState, role: str, error: EnlistError, nothing_to_do: bool = False) -> None:
        self._commit(NewEvent(kind="role.failed", role=role,
                              key=f"{role}:given-up:{self.attempt}:{len(state.fillings[role])}", data={
            "agent": state.members[role].agent, "error": error.to_dict(), "final": True,
            "nothing_to_do": nothing_to_do}))
        self._refresh(state)

    def _cancel(self, state: RunState) -> None:
        """Tell running roles to stop through the store, wait for them, then end the rest by force."""
        if not self.crew.running():
            return
        try:
            self._commit(NewEvent(kind="stop.requested", key=f"stop:{self.attempt}", data={"by": "driver"}))
        except EnlistError as error:
            if error.code != "stale_attempt":
                raise
        self.crew.drain(DRAIN)
        self._refresh(state)
        for role in sorted(self.crew.running()):
            self.crew.end(role, state.fillings[role][-1].processes)

    def _commit(self, event: NewEvent) -> None:
        self.memory.commit(self.run, self.attempt, [event])

    def _refresh(self, state: RunState) -> None:
        events = self.memory.events(self.run, after=state.last_seq)
        if events:
            state.extend(events)
            for event in events:
                self._heard[event.role or ""] = time.monotonic()
            self.watch(events)


def _plan(state: RunState) -> Plan:
    if state.planning is None or state.planning.plan is None:
        raise EnlistError("internal", "the journal holds no plan", given=state.run)
    return state.planning.plan
