"""The life of a campaign: plan, take the lease, drive what is missing, write the leaderboard.

Running a campaign that is complete starts nothing and writes its leaderboard again.
"""

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from enlist.agents.pool import shipped
from enlist.evals.campaign.content import Content, Spent, make_content, spent
from enlist.evals.campaign.driver import Driver, Watch, missing, open_attempt
from enlist.evals.campaign.file import CampaignFile, read_file, upload
from enlist.evals.campaign.journal import State, Status
from enlist.evals.campaign.output import Written, leaderboard_json, write
from enlist.evals.campaign.plan import Plan, make_plan
from enlist.orchestrator.cluster import Connection, check_address
from enlist.orchestrator.driver import Interrupt, Lease
from enlist.orchestrator.report.files import check_folder
from enlist.orchestrator.run import cost_of, silent, worker_locator
from enlist.orchestrator.snapshots import quality_record
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.config import Config
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import EventKind, NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.leases import is_over
from enlist.tools.runtime.memory.owner import owner_alive
from enlist.tools.runtime.memory.protocol import Memory, NewRecord

EXIT_CODES: dict[str, int] = {"done": 0, "partial": 1, "budget": 3, "interrupted": 130}


@dataclass(frozen=True)
class CampaignEnded:
    """How a campaign stands; `written` None where nothing was written, `plan` None where it cannot be made again."""

    campaign: str
    status: Status
    content: Content
    about: dict[str, Any]
    written: Written | None
    error: EnlistError | None = None
    plan: Plan | None = None

    def document(self) -> dict[str, Any]:
        """The JSON document of `enlist campaign run` and `show`."""
        return {"campaign": self.campaign, "status": self.status, "content": self.content.model_dump(mode="json"),
                "run": self.about, "leaderboard": self.written.paths() if self.written else None,
                "error": self.error.to_dict() if self.error else None}


def run_campaign(config: Config, path: Path, *, limit: int | None = None, sample: int | None = None,
                 watch: Watch = silent, interrupt: Interrupt | None = None) -> CampaignEnded:
    """Run or go on with the campaign of a file.

    Raises:
        EnlistError: faults of the file and its names; `lease_held` where it runs elsewhere. What happens inside the
            campaign is in what is returned.
    """
    check_address(config["address"])
    check_folder(Path(config["out"]))
    file = read_file(path)
    memory = open_memory(config.locator())
    try:
        plan = make_plan(file, upload(file, path.parent, memory), limit=limit, sample=sample)
        state = State.read(memory, plan.id)
        if state.status in ("done", "partial") and not missing(plan, state):
            content, run = make_content(plan, state), about(memory, plan, state, state.status)
            return CampaignEnded(plan.id, state.status, content, run, write(Path(config["out"]), content, run), None,
                                 plan)
        interrupt = interrupt or Interrupt()
        with Lease(memory, plan.id) as lease, interrupt, ExitStack() as ending:
            connection = Connection(config.home, config["address"], config["ray_auth_mode"])
            ending.callback(connection.close)
            open_attempt(memory, plan, lease.attempt)
            try:
                connection.ready()
                locator = worker_locator(memory, config, connection)
            except EnlistError as error:
                memory.commit(plan.id, lease.attempt, [NewEvent(kind="run.interrupted",
                                                                data={"reason": error.message})])
                raise
            return drive(memory, locator, plan, lease, lambda: interrupt.asked() or lease.lost(), watch,
                         Path(config["out"]))
    finally:
        memory.close()


def drive(memory: Memory, locator: str, plan: Plan, lease: Lease, interrupted: Any, watch: Watch,
          out: Path | None) -> CampaignEnded:
    """Drive a campaign whose attempt is open to its end, with Ray connected; write its leaderboard below `out`."""
    def stop() -> bool:
        return interrupted() or memory.find_event(plan.id, "stop.requested", f"stop:{lease.attempt}") is not None

    status: Status = "done"
    error: EnlistError | None = None
    try:
        Driver(memory, locator, plan, lease.attempt, stop, watch).drive()
    except EnlistError as fault:
        if lease.lost() or fault.code not in ("cancelled", "budget_exhausted"):
            raise
        status, error = ("interrupted" if fault.code == "cancelled" else "budget"), fault
    state = State.read(memory, plan.id)
    if status == "done" and any(s.key not in state.outcomes for s in plan.samples):
        status = "partial"
    content, run = make_content(plan, state), about(memory, plan, state, status)
    ref = memory.put_bytes(leaderboard_json(content, run).encode(), media_type="application/json",
                           name="leaderboard.json")
    memory.commit(plan.id, lease.attempt, [], [NewRecord(kind="report", id=f"leaderboard:{lease.attempt}", data={
        "leaderboard": ref.model_dump(mode="json")})])
    kind: EventKind = "run.interrupted" if status == "interrupted" else "run.finished"
    memory.commit(plan.id, lease.attempt, [NewEvent(kind=kind, data={
        "status": status, "reason": error.message if error else ""})], lessons(plan, state))
    return CampaignEnded(plan.id, status, content, run, write(out, content, run) if out else None, error, plan)


def lessons(plan: Plan, state: State) -> list[NewRecord]:
    """What the settled samples teach of the quality of single agents. A team's score is nobody's alone, and the test
    split must not be learned from."""
    agents = {(rows.entry.shown, name): entry.agent for rows in plan.rows for name, entry in rows.solvers.items()
              if entry.agent is not None}
    found, pool = [], shipped() if agents else None
    for sample in plan.samples:
        agent, outcome = agents.get((sample.environment, sample.solver)), state.outcomes.get(sample.key)
        if agent is None or pool is None or outcome is None or not outcome.counted or sample.task.split == "test":
            continue
        task = sample.task
        found.append(quality_record(agent, str(pool.capability[pool.find(agent)]), outcome.value,
                                    f"{task.environment} {task.version} {task.split} {task.seed} {task.id}"))
    return found


def show_campaign(memory: Memory, id: str) -> CampaignEnded:
    """A campaign as it stands in the store. One that was made with other versions than are installed now is shown by
    the leaderboard that it wrote last.

    Raises:
        EnlistError: `not_found` for an unknown id; `version_mismatch` where it wrote none.
    """
    try:
        plan = stored_plan(memory, id)
    except EnlistError:
        reports = memory.records("report", id)
        if not reports:
            raise
        ref = ArtifactRef.model_validate(reports[-1].data["leaderboard"])
        return from_document(json.loads(memory.open_artifact(ref).read_text(encoding="utf-8")))
    state = State.read(memory, id)
    status = status_now(memory, id, state)
    return CampaignEnded(id, status, make_content(plan, state), about(memory, plan, state, status), None, None, plan)


def from_document(document: Any) -> CampaignEnded:
    """A campaign out of its leaderboard.json; `bad_input` for another document."""
    try:
        content = Content.model_validate(document["content"])
        return CampaignEnded(content.campaign, document["run"]["status"], content, document["run"], None)
    except (ValidationError, KeyError, TypeError) as error:
        raise EnlistError("bad_input", "this is no leaderboard.json of a campaign", given=str(error)[:200],
                          allowed="a campaign id, or the path of a leaderboard.json",
                          fix="see `enlist campaign list`") from error


def status_now(memory: Memory, id: str, state: State) -> Status:
    """The status of a campaign; one that says it runs and that nobody drives was killed and could not say so."""
    lease = memory.lease(id)
    if state.status in ("accepted", "running") and (lease is None or is_over(lease, time.time(), owner_alive)):
        return "interrupted"
    return state.status


def stored_plan(memory: Memory, id: str) -> Plan:
    """The plan of a campaign of the store, made again."""
    record = memory.record("plan", id, "campaign")
    if record is None:
        raise EnlistError("not_found", "no campaign of this id is in this store", given=repr(id),
                          allowed=", ".join(campaigns(memory)[-5:]) or "the store holds no campaigns",
                          fix="see `enlist campaign list`")
    data = record.data
    plan = make_plan(CampaignFile.model_validate(data["file"]),
                     {name: ArtifactRef.model_validate(ref) for name, ref in data["files"].items()}, **data["drawn"])
    if plan.id != id:
        changed = [n for n in sorted({*plan.versions, *data["versions"]})
                   if plan.versions.get(n) != data["versions"].get(n)]
        raise EnlistError("version_mismatch", f"campaign {id} was made with something else",
                          given=", ".join(changed) or "ENLIST_EVAL_SALT",
                          fix="read its leaderboard.json, or install the versions that it names")
    return plan


def campaigns(memory: Memory) -> list[str]:
    """Ids of the campaigns of the store, oldest first."""
    return [record.run for record in memory.records("plan") if record.id == "campaign"]


def about(memory: Memory, plan: Plan, state: State, status: str) -> dict[str, Any]:
    """What does not repeat: status, times, costs and tries, with the reasons of what was given up."""
    events = memory.events(plan.id, limit=1)
    return {"status": status, "accepted": events[0].time if events else None, "cost": cost_of(memory, plan.id),
            "spent": [s.model_dump(mode="json") for s in spent(plan, state)],
            "tries": sum(state.starts.values()), "samples": len(plan.samples), "settled": len(state.outcomes),
            "given_up": {s.shown: state.why(s.key) for s in plan.samples if s.key not in state.outcomes
                         and state.given_up(s.key, plan.file.retries)}}


def spent_of(about: dict[str, Any]) -> tuple[Spent, ...]:
    """The costs in the `run` half of a leaderboard."""
    return tuple(Spent.model_validate(s) for s in about["spent"])
