"""How the analyst works: read the campaign, run it under its own lease, and claim what its samples show.

The campaign has a journal of its own, so an analyst that dies is followed by one that goes on where it stopped.
"""

from collections.abc import Callable, Mapping

from enlist.agents.calls import stopper
from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.evals.campaign import journal
from enlist.evals.campaign.campaign import drive
from enlist.evals.campaign.content import table_of
from enlist.evals.campaign.driver import open_attempt
from enlist.evals.campaign.file import CampaignFile, Limits, parse
from enlist.evals.campaign.plan import Plan, make_plan
from enlist.evals.campaign.wish import read_wish
from enlist.orchestrator.driver import Lease
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError

KIND = "campaign"


def act(work: Work, state: State) -> Draft:
    """Run the campaign that is asked for, as far as the time allows, and make its leaderboard."""
    plan = _plan(work)
    stopped = stopper(work.memory, work.assignment.run, work.assignment.attempt)
    _run(work, plan, lambda: stopped() or work.out_of_time())
    if stopped():
        raise EnlistError("cancelled", "the run was stopped; the campaign goes on when the run is resumed")
    table = table_of(plan, journal.State.read(work.memory, plan.id))
    if not table.samples:
        raise EnlistError("tool_failed", "no sample of the campaign was settled", given=plan.id,
                          fix=f"see `enlist campaign show {plan.id}`")
    if table.missing:
        work.note(f"{len(table.missing)} of {len(plan.samples)} samples are missing and counted nowhere; see `enlist "
                  f"campaign show {plan.id}`")
    kept = work.memory.put_bytes(table.model_dump_json().encode(), media_type="application/json", name="samples.json")
    output = work.call("campaign-leaderboard", "leaderboard", {"table": kept.model_dump(mode="json")}).output
    return Draft(data={"campaign": plan.id, "boards": [b.model_dump(mode="json") for b in output.boards]})


def check(work: Work, state: State) -> list[str]:
    """Invariants: every mean lies in [0, 1] and in its interval, and the verdicts add up to the samples."""
    complaints = []
    for board in state["draft"].data["boards"]:
        for row in board["rows"]:
            score, name = row["score"], f"{row['solver']} in {board['environment']}"
            if score and not 0 <= score["low"] <= score["mean"] <= score["high"] <= 1:
                complaints.append(f"the interval of {name} does not hold its mean")
            if sum(row["verdicts"].values()) != row["samples"]:
                complaints.append(f"the verdicts of {name} do not add up")
    return complaints


def _plan(work: Work) -> Plan:
    """The plan of the attached or spoken campaign, cut down to the agent's number of samples."""
    attached = [i for i in work.inputs if KIND in i.kinds]
    files: Mapping[str, ArtifactRef] = {}
    if attached:
        if len(attached) > 1:
            work.note(f"several campaigns are attached; {attached[0].ref.name} was run")
        ref = attached[0].ref
        file = parse(work.memory.open_artifact(ref).read_text(encoding="utf-8", errors="replace"), ref.name)
        files = _files(work, file)
    else:
        wish = read_wish(str(work.request["text"]))
        for note in wish.notes:
            work.note(note)
        file = wish.file.model_copy(update={"limits": Limits(seconds=float(work.knobs["sample_seconds"] or 60))})
    file = file.model_copy(update={"retries": int(work.knobs["retries"] or 0)})
    whole = make_plan(file, files)
    most = int(work.knobs["samples"] or 1)
    if len(whole.samples) <= most:
        return whole
    tasks = len({(s.environment, s.task.seed, s.task.id) for s in whole.samples})
    cut = make_plan(file, files, sample=max(1, tasks * most // len(whole.samples)))
    work.note(f"{len(cut.samples)} of {len(whole.samples)} samples were drawn with a fixed seed; `enlist campaign run "
              "FILE` runs all")
    return cut


def _files(work: Work, file: CampaignFile) -> dict[str, ArtifactRef]:
    there = {i.ref.name: i.ref for i in work.inputs}
    names = [name for solver in file.solvers for name in solver.files]
    if absent := [name for name in names if name not in there]:
        raise EnlistError("bad_input", "the campaign names files that are not attached", given=", ".join(absent),
                          allowed=", ".join(there), fix="attach the folder, or them beside the campaign file")
    return {name: there[name] for name in names}


def _run(work: Work, plan: Plan, interrupted: Callable[[], bool]) -> None:
    state = journal.State.read(work.memory, plan.id)
    if all(s.key in state.outcomes or state.given_up(s.key, plan.file.retries) for s in plan.samples):
        return
    with Lease(work.memory, plan.id) as lease:
        open_attempt(work.memory, plan, lease.attempt)
        drive(work.memory, work.assignment.memory, plan, lease, lambda: interrupted() or lease.lost(),
              lambda events: None, None)
