"""The life of a run: accept, plan, enlist, drive, report; stop and resume at any point.

What a run will do is committed before it is done: accepted with its request, planned with its team and pins, then one
attempt after another until it has a report. Whoever holds the lease drives; each driver is one attempt.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from enlist.agents.language.provider import read_replay
from enlist.agents.language.settings import ModelSettings, check_prices, configured, served
from enlist.agents.pool import Pool, capabilities_served
from enlist.orchestrator.attach import attach
from enlist.orchestrator.capabilities import load_capabilities
from enlist.orchestrator.cluster import Connection, check_address, check_artifacts, lost_head
from enlist.orchestrator.driver import Interrupt, Lease
from enlist.orchestrator.executor import Executor, Watch
from enlist.orchestrator.plan import Planning
from enlist.orchestrator.planning import plan_request, read_request
from enlist.orchestrator.planning.meaning import Meaning, chosen
from enlist.orchestrator.report.content import Claim, Content, assemble, claims_of
from enlist.orchestrator.report.files import Written, check_folder, write_report
from enlist.orchestrator.request import Attachment, Budget, Request
from enlist.orchestrator.snapshots import pinned_pool
from enlist.orchestrator.state import ENDED, RunState, Status
from enlist.orchestrator.team import Team, enlist_team
from enlist.orchestrator.telemetry import exporting
from enlist.tools.runtime import registry
from enlist.tools.runtime.config import Config
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.ids import new_run_id
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory

Models = tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """How a run ended: what is printed as the run's JSON."""

    run: str
    status: Status
    content: Content | None
    written: Written | None
    cost: dict[str, float]
    reenlisted: tuple[dict[str, Any], ...]
    levels: dict[str, str]
    error: EnlistError | None
    next: str

    def document(self) -> dict[str, Any]:
        """The run's JSON document (docs/runs.md)."""
        content = self.content.model_dump(mode="json") if self.content else {}
        team = content.get("team") or {}
        return {
            "run": self.run, "status": self.status, "plan": content.get("plan"), "team": team.get("members", []),
            "findings": content.get("claims", []), "missing": content.get("missing", []),
            "nearest": content.get("nearest", []), "unfinished": content.get("unfinished", []),
            "notes": content.get("notes", []),
            "report": self.written.paths() if self.written else None, "cost": self.cost,
            "reenlisted": list(self.reenlisted), "sandbox": self.levels,
            "error": self.error.to_dict() if self.error else None, "next": self.next}


def silent(events: list[Event]) -> None:
    """A watch that shows nothing."""


def make_plan(memory: Memory, text: str, attachments: tuple[Attachment, ...], budget: Budget, pool: Pool,
              models: Models = (), meaning: Meaning | None = None) -> tuple[Request, Planning]:
    """The request as read, and its plan over the capabilities that the pool serves."""
    request = read_request(text, attachments, budget)
    return request, plan_request(request, load_capabilities(), capabilities_served(pool, models), meaning)


def team_only(config: Config, text: str, paths: Sequence[Path], pool: Pool | None = None,
              snapshot: str | None = None) -> tuple[Planning, Team | None]:
    """Plan and team without a run: what `enlist team` shows, over the pool that `enlist run` would take."""
    check_seed(config["seed"])
    memory = open_memory(config.locator())
    try:
        pool = pool or pinned_pool(memory, snapshot)[0]
        models = served(configured(config))
        _, planning = make_plan(memory, text, attach(memory, paths), Budget(), pool, models, chosen(config))
        return planning, (enlist_team(planning.plan, pool, seed=config["seed"], models=models)
                          if planning.plan else None)
    finally:
        memory.close()


def run(config: Config, text: str, paths: Sequence[Path] = (), *, snapshot: str | None = None,
        watch: Watch = silent, interrupt: Interrupt | None = None) -> Ended:
    """Answer a request: the whole life of a run.

    Raises:
        EnlistError: faults of the call itself (an attachment that is not there, an unknown snapshot, a damaged store).
            What happens inside the run is in the returned document.
    """
    if not text.strip():
        raise EnlistError("bad_input", "the request is empty", given=repr(text[:20]),
                          fix='say what you want to know, for example enlist run "How far is this model from the limit '
                              'of an H100?" --attach model.py')
    check_seed(config["seed"])
    check_address(config["address"])
    check_folder(Path(config["out"]))
    check_artifacts(config.locator())
    check_replay(config)
    models = configured(config)
    check_prices(models, config["budget_usd"])
    memory = open_memory(config.locator())
    try:
        pool, snapshot_id = pinned_pool(memory, snapshot)
        budget = Budget(seconds=config["budget_seconds"] or None, usd=config["budget_usd"])
        request, planning = make_plan(memory, text, attach(memory, paths), budget, pool, served(models),
                                      chosen(config))
        id = new_run_id()
        pins = {"seed": config["seed"], "snapshot": snapshot_id, "versions": _versions(pool),
                **({"models": [model.model_dump(mode="json") for model in models]} if models else {})}
        memory.commit(id, 0, [NewEvent(kind="run.accepted", key="accepted", data={
            "request": request.model_dump(mode="json"), "pins": pins})])
        return _drive(memory, config, id, pool, planning, watch, interrupt or Interrupt())
    finally:
        memory.close()


def resume(config: Config, id: str, *, accept_changed: bool = False, watch: Watch = silent,
           interrupt: Interrupt | None = None) -> Ended:
    """Go on with a run that was interrupted or killed; a run that has ended is shown again.

    Raises:
        EnlistError: `not_found`; `lease_held` where the run is alive; `version_mismatch` where what is installed is not
            what the run was made with, unless `accept_changed`.
    """
    check_address(config["address"])
    check_artifacts(config.locator())
    check_replay(config)
    memory = open_memory(config.locator())
    try:
        state = RunState.read(memory, id)
        pool, _ = pinned_pool(memory, state.pins["snapshot"], accept_changed=accept_changed)
        now = _versions(pool)
        if now != state.pins["versions"] and not accept_changed:
            changed = sorted(k for k in now.keys() | state.pins["versions"].keys()
                             if now.get(k) != state.pins["versions"].get(k))
            raise EnlistError("version_mismatch", f"what run {id} was made with has changed", given=", ".join(changed),
                              fix="install the versions that the run pins, or go on with --accept-changed")
        if state.status in ENDED and state.status != "budget":
            return show(memory, config, id)
        request = state.request
        if request is None:
            raise EnlistError("internal", "the journal holds no request", given=id)
        planning = state.planning or plan_request(request, load_capabilities(), capabilities_served(
            pool, served(_pinned_models(state))), chosen(config))
        return _drive(memory, config, id, pool, planning, watch, interrupt or Interrupt())
    finally:
        memory.close()


def stop(config: Config, id: str) -> str:
    """Ask a run to stop; says what will happen."""
    memory = open_memory(config.locator())
    try:
        state = RunState.read(memory, id)
        if state.status in ENDED:
            return f"run {id} has ended already: {state.status}"
        lease = memory.lease(id)
        attempt = lease.attempt if lease else 0
        memory.commit(id, attempt, [NewEvent(kind="stop.requested", key=f"stop:{attempt}", data={"by": "user"})])
        return f"run {id} was asked to stop; go on later with `enlist resume {id}`"
    finally:
        memory.close()


def show(memory: Memory, config: Config, id: str) -> Ended:
    """A run as it stands, with its report if it has one."""
    state = RunState.read(memory, id)
    content = assemble(memory, state) if state.status in ENDED and state.planning else None
    written = Written.of(state.reported) if state.reported else None
    return _ended(memory, id, state, content, written, None)


def _drive(memory: Memory, config: Config, id: str, pool: Pool, planning: Planning, watch: Watch,
           interrupt: Interrupt) -> Ended:
    with Lease(memory, id) as lease, interrupt, exporting(memory, id, lease.attempt), ExitStack() as ending:
        connection = Connection(config.home, config["address"], config["ray_auth_mode"]) if planning.plan else None
        if connection is not None:
            ending.callback(connection.close)
        memory.commit(id, lease.attempt, [NewEvent(kind="attempt.opened", key=f"attempt:{lease.attempt}", data={})])
        error: EnlistError | None = None
        status: Status = "failed"
        try:
            state = _plan_once(memory, id, lease.attempt, pool, planning, config)
            watch(memory.events(id))
            if connection is not None:
                state = _execute(memory, config, id, lease, connection, pool, state, watch, interrupt)
                status = _verdict(state, claims_of(memory, id))
        except EnlistError as fault:
            if fault.code == "stale_attempt" or lease.lost():
                raise
            error = fault = lost_head(id) if connection is not None and connection.lost() else fault
            if fault.code == "budget_exhausted":
                status = "budget"
            elif fault.code == "cancelled" or fault.kind in ("user", "transient"):  # what stood in the way can go
                memory.commit(id, lease.attempt, [NewEvent(kind="run.interrupted", data={"reason": fault.message})])
                if fault.kind == "user":
                    raise
                return _ended(memory, id, RunState.read(memory, id), None, None, fault)
        return _finish(memory, config, id, lease.attempt, status, error, watch)


def _plan_once(memory: Memory, id: str, attempt: int, pool: Pool, planning: Planning, config: Config) -> RunState:
    """Commit the plan and the team, once in the life of a run."""
    state = RunState.read(memory, id)
    if state.planning is None:
        request = state.request
        team = enlist_team(planning.plan, pool, seed=int(state.pins["seed"]),
                           models=served(_pinned_models(state)),
                           seconds=request.budget.seconds if request else None) if planning.plan else None
        memory.commit(id, attempt, [NewEvent(kind="run.planned", key="planned", data={
            "planning": planning.model_dump(mode="json"), "pins": {},
            "team": team.model_dump(mode="json") if team else None})])
        state = RunState.read(memory, id)
    return state


def _execute(memory: Memory, config: Config, id: str, lease: Lease, connection: Connection, pool: Pool,
             state: RunState, watch: Watch, interrupt: Interrupt) -> RunState:
    connection.ready()
    locator = worker_locator(memory, config, connection)
    if config["address"]:
        connection.check_store(memory, locator)
    limit = config["budget_seconds"] or (state.request.budget.seconds if state.request else None)
    deadline = time.time() + limit if limit else None
    if state.request is not None and state.request.budget.usd is not None:
        memory.set_budget(id, "usd", state.request.budget.usd)
    models = _pinned_models(state)
    executor = Executor(memory=memory, locator=locator, run=id, attempt=lease.attempt, pool=pool,
                        models=served(models), providers=models, model_replay=check_replay(config),
                        deadline=deadline, watch=watch,
                        interrupted=lambda: interrupt.asked() or lease.lost() or connection.lost())
    return connection.guard(executor.drive)


def worker_locator(memory: Memory, config: Config, connection: Connection) -> str:
    """How workers open the store: directly on one machine or with Postgres; through one actor on several nodes."""
    if memory.locator().startswith("postgresql"):
        return memory.locator()
    if config["address"] and connection.many_nodes():
        from enlist.tools.runtime.memory.actor import serve
        from enlist.tools.runtime.memory.sqlite import SqliteMemory

        if isinstance(memory, SqliteMemory):
            return serve(memory)
    return memory.locator()


def _verdict(state: RunState, claims: Sequence[Claim]) -> Status:
    """`done` where every role finished, nothing is missing and nothing was refuted; `budget` where a role gave up for
    want of it; `failed` where no analyst finished; else `partial`."""
    plan = state.planning.plan if state.planning else None
    if plan is None:
        return "failed"
    if any(error.code == "budget_exhausted" for error in state.given_up.values()):
        return "budget"
    analysts = [r.id for r in plan.roles if r.duty == "analyst"]
    if not any(a in state.finished for a in analysts):
        return "failed"
    whole = all(r.id in state.finished for r in plan.roles) and not (state.planning and state.planning.missing)
    return "done" if whole and not any(c.status == "refuted" for c in claims) else "partial"


def _finish(memory: Memory, config: Config, id: str, attempt: int, status: Status, error: EnlistError | None,
            watch: Watch) -> Ended:
    """Write the report and close the run, in that order: a run that is closed has its report."""
    seen = RunState.read(memory, id).last_seq
    memory.commit(id, attempt, [NewEvent(kind="report.started", data={})])
    state = RunState.read(memory, id)
    content = assemble(memory, state)
    written = write_report(memory, Path(config["out"]), id, status, content, _about(memory, id, state))
    memory.commit(id, attempt, [
        NewEvent(kind="report.finished", key=f"report:{attempt}", data=written.model_dump(mode="json")),
        NewEvent(kind="run.finished", key=f"finished:{attempt}", data={"status": status})])
    watch(memory.events(id, after=seen))
    return _ended(memory, id, RunState.read(memory, id), content, written, error)


def _about(memory: Memory, id: str, state: RunState) -> dict[str, Any]:
    """The `run` half of report.json: id, times, cost, machine."""
    events = memory.events(id)
    return {"id": id, "accepted": events[0].time, "attempts": max(e.attempt for e in events),
            "cost": cost_of(memory, id), "sandbox": levels_of(memory, id), "reenlisted": state.reenlisted,
            "enlist": version("enlist")}


def cost_of(memory: Memory, id: str) -> dict[str, float]:
    """What a run has cost: wall seconds over all attempts, tokens and US dollars as settled in the store."""
    events = memory.events(id)
    seconds, opened = 0.0, None
    last: float | None = None
    for event in events:
        if event.kind == "attempt.opened":
            if opened is not None and last is not None:
                seconds += max(0.0, last - opened)
            opened = event.time
        last = event.time
    if opened is not None and last is not None:
        seconds += max(0.0, last - opened)
    return {"seconds": round(seconds, 3), "tokens": memory.budget(id, "tokens").spent,
            "usd": memory.budget(id, "usd").spent}


def levels_of(memory: Memory, id: str) -> dict[str, str]:
    """The sandbox level that each tool's child ran at, whether it ended well or not."""
    ended = [e.data for e in memory.events(id) if e.kind in ("tool.finished", "tool.failed")]
    return dict(sorted({data["tool"]: data["level"] for data in ended if data.get("level")}.items()))


def check_replay(config: Config) -> str:
    """The setting `model_replay` with an absolute folder, "" where it is not set; `bad_input`, `not_found` where it
    cannot be right."""
    if not config["model_replay"]:
        return ""
    mode, folder = read_replay(config["model_replay"])
    return f"{mode}:{folder}"


def check_seed(seed: int) -> None:
    """Refuse a seed that the search does not take."""
    if not 0 <= seed < 2**63:
        raise EnlistError("bad_input", "the seed is out of range", given=str(seed), allowed="0 to 2**63 - 1",
                          fix="correct --seed")


def _ended(memory: Memory, id: str, state: RunState, content: Content | None, written: Written | None,
           error: EnlistError | None) -> Ended:
    if state.status in ("interrupted", "running", "accepted", "budget"):
        following = f"enlist resume {id}"
    elif content and content.sections and content.sections[0].next:
        following = content.sections[0].next
    elif content and content.plan is None:
        following = "enlist capabilities list"
    else:
        following = f"enlist show {id}"
    return Ended(run=id, status=state.status, content=content, written=written, cost=cost_of(memory, id),
                 reenlisted=tuple(state.reenlisted), levels=levels_of(memory, id), error=error, next=following)


def _pinned_models(state: RunState) -> tuple[ModelSettings, ...]:
    """The language models that a run was made with."""
    return tuple(ModelSettings.model_validate(model) for model in state.pins.get("models", ()))


def _versions(pool: Pool) -> dict[str, str]:
    """What a run's content depends on: Enlist, the tools and the specialists."""
    tools = {f"tool {name}": tool.version for name, tool in registry.load_all("enlist.tools").items()}
    agents = {f"specialist {name}": s.version for name, s in pool.declared.items()}
    return dict(sorted({"enlist": version("enlist"), **tools, **agents}.items()))
