"""The executor: starts each role when what it reads is there, and is the only one that retries.

One loop in the driver. Roles run as Ray tasks without retries of Ray's own; how each ended stands in the journal, put
there by its worker, and the loop acts on the journal. A fault that may pass is tried again with the same agent; another
re-enlists the role without the failed agent, and without its specialist where the fault is deterministic; a fault of
the user's input ends the role at once. Finished tool calls are kept whoever fills the role.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from enlist.agents.calls import stop_requested
from enlist.agents.pool import Pool
from enlist.agents.role import run_role
from enlist.agents.work import Assignment, Input
from enlist.orchestrator.plan import Plan
from enlist.orchestrator.state import RunState
from enlist.orchestrator.team import Member, enlist_team
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory.protocol import Memory

TRANSIENT_TRIES = 3  # fillings of a role by one agent under faults that may pass
MOST_REENLISTMENTS = {"limit": 1, "deterministic": 2, "transient": 2}  # per role, by the kind of the last fault
TICK = 0.2  # seconds between two looks at the tasks and the store
DRAIN = 8.0  # seconds that running roles get to end after a stop

Watch = Callable[[list[Event]], None]


@dataclass
class Executor:
    """Drives the roles of one run.

    Attributes:
        locator: the store's locator as workers see it.
        deadline: seconds since 1970, or None.
        interrupted: tells whether this driver was asked to end (a signal, a lost lease).
        watch: is handed new events as they appear.
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

    def drive(self) -> RunState:
        """Run every role to its end.

        Raises:
            EnlistError: `cancelled` after a stop or an interruption, `budget_exhausted` after the deadline; running
                roles have ended or were cancelled by then.
        """
        import ray

        state = RunState.read(self.memory, self.run)
        running: dict[Any, str] = {}
        task = ray.remote(run_role)
        try:
            while True:
                self._obey(state)
                for role in self._ready(state, set(running.values())):
                    document = self._assignment(state, role).model_dump_json()
                    self._commit(NewEvent(kind="role.started", role=role, data={"agent": state.members[role].agent}))
                    running[task.options(num_cpus=0, max_retries=0, name=f"role:{role}").remote(document)] = role
                if not running:
                    self._refresh(state)
                    return state
                done, _ = ray.wait(list(running), num_returns=1, timeout=TICK)
                lost = {running.pop(ref): _outcome(ref) for ref in done}
                self._refresh(state)
                for role, error in lost.items():
                    self._after(state, role, error)
        except EnlistError:
            self._cancel(running)
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
                                                       given=", ".join(above)))
                return self._ready(state, running)
            ready.append(role)
        return ready

    def _assignment(self, state: RunState, role: str) -> Assignment:
        plan, member = _plan(state), state.members[role]
        request = state.request
        if request is None:
            raise EnlistError("internal", "the journal holds no request", given=self.run)
        place, at = self.pool.find(member.agent), plan.role(role)
        return Assignment(
            memory=self.locator, run=self.run, attempt=self.attempt, role=role, capability=at.capability or "",
            agent=member.agent, specialist=str(self.pool.specialist[place]), knobs=dict(self.pool.knobs[place]),
            inputs=tuple(Input(ref=a.ref, kinds=a.kinds) for a in request.attachments if a.ref.sha256 in at.inputs),
            upstream={r: plan.role(r).capability or "" for r in plan.upstream(role)},
            request=request.model_dump(mode="json"), deadline=self.deadline)

    def _after(self, state: RunState, role: str, lost: EnlistError | None) -> None:
        """Act on the end of a role's task."""
        if role in state.finished or self._late():
            return  # what fails for want of time is open when the run goes on
        failures = state.failures_of(role)
        if lost is not None or not failures:  # the worker could not tell the journal
            error = lost or EnlistError("worker_died", f"the worker of role {role} ended without a word")
            self._commit(NewEvent(kind="role.failed", role=role, data={"agent": state.members[role].agent,
                                                                       "error": error.to_dict()}))
            self._refresh(state)
            failures = state.failures_of(role)
        last = failures[-1]
        passing = [f for f in failures if f.agent == last.agent and f.error.kind in ("transient", "control")]
        if last.error.kind in ("transient", "control") and len(passing) < TRANSIENT_TRIES:
            return  # ready again; after a stop `_obey` ends the loop first
        replaced = sum(r["role"] == role for r in state.reenlisted)
        if replaced >= MOST_REENLISTMENTS.get(last.error.kind, 0):
            self._give_up(state, role, last.error)
            return
        try:
            member = self._replacement(state, role)
        except EnlistError:  # nobody is left
            self._give_up(state, role, last.error)
            return
        self._commit(NewEvent(kind="role.reenlisted", role=role, data={
            "member": member.model_dump(mode="json"), "replaced": last.agent, "by": member.agent,
            "reason": f"{last.error.code}: {last.error.message}"}))
        self._refresh(state)

    def _replacement(self, state: RunState, role: str) -> Member:
        """The agent that search enlists for a role beside the rest of the team, without those that failed in it."""
        excluded: set[int] = set()
        for failure in state.failures_of(role):
            place = self.pool.find(failure.agent)
            excluded.add(place)
            twins = (self.pool.specialist == self.pool.specialist[place]).nonzero()[0].tolist()
            if failure.error.kind == "deterministic":  # its twins would meet the same fault
                excluded.update(twins)
            elif failure.error.code == "timeout":  # only those that wait longer may do better
                excluded.update(t for t in twins if _patience(self.pool, t) <= _patience(self.pool, place))
        others = {r: m.agent for r, m in state.members.items() if r != role}
        team = enlist_team(_plan(state), self.pool, seed=int(state.pins["seed"]), models=self.models, fixed=others,
                           excluded={role: excluded})
        return next(m for m in team.members if m.role == role)

    def _give_up(self, state: RunState, role: str, error: EnlistError) -> None:
        self._commit(NewEvent(kind="role.failed", role=role, key=f"{role}:given-up", data={
            "agent": state.members[role].agent, "error": error.to_dict(), "final": True}))
        self._refresh(state)

    def _cancel(self, running: dict[Any, str]) -> None:
        """Tell running roles to stop through the store, wait for them, then force the rest."""
        import ray

        if not running:
            return
        try:
            self._commit(NewEvent(kind="stop.requested", key=f"stop:{self.attempt}", data={"by": "driver"}))
        except EnlistError as error:
            if error.code != "stale_attempt":
                raise
        _, left = ray.wait(list(running), num_returns=len(running), timeout=DRAIN)
        for reference in left:
            ray.cancel(reference, force=True)

    def _commit(self, event: NewEvent) -> None:
        self.memory.commit(self.run, self.attempt, [event])

    def _refresh(self, state: RunState) -> None:
        events = self.memory.events(self.run, after=state.last_seq)
        if events:
            state.extend(events)
            self.watch(events)


def _plan(state: RunState) -> Plan:
    if state.planning is None or state.planning.plan is None:
        raise EnlistError("internal", "the journal holds no plan", given=state.run)
    return state.planning.plan


def _patience(pool: Pool, place: int) -> float:
    limit = pool.knobs[place].get("time_limit")
    return float(limit) if isinstance(limit, int | float) else float("inf")


def _outcome(reference: Any) -> EnlistError | None:
    """None where a role's task returned; else the fault of its worker."""
    import ray
    from ray.exceptions import RayError

    try:
        ray.get(reference, timeout=30)
    except RayError as error:
        return EnlistError("worker_died", f"the worker of a role died: {type(error).__name__}",
                           details=str(error)[-2000:])
    return None
