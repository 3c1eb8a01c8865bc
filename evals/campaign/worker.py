"""The body of a sample's Ray task: solve in a child, keep the answer, score here, commit how the try ended.

Scoring never shares a process with solving. What an environment keeps between scores (an optimum, say) stays in the
worker for the next sample. A fault of ours (a worker that died, a score of verdict `error`) is no verdict on the
solver; a solver that hangs or crashes is.
"""

import json
import os
import time
from typing import Any

from pydantic import BaseModel, ConfigDict

from enlist.environments.contract import Score, Submission, configured
from enlist.evals.campaign import journal
from enlist.evals.campaign.file import Disposition
from enlist.evals.campaign.solving import Solving, solve
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.ids import canonical_json
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.tool import load

SOLVERS_FAULTS = {"timeout", "resource_limit", "tool_failed", "invalid_output", "unsupported"}


class SampleJob(BaseModel):
    """All that a worker is told, as one JSON document. `number` is the try's, `faults` how many failed before;
    `answer` is what an earlier try was answered and could not be scored; `salt` is that of the driver, for nodes that
    do not have it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: str
    campaign: str
    attempt: int
    sample: str
    shown: str
    number: int
    faults: int
    retries: int
    disposition: Disposition
    solving: Solving
    answer: ArtifactRef | None = None
    salt: str | None = None


def run_sample(document: str) -> None:
    """Run one try of a sample. How it ended stands in the journal."""
    job = SampleJob.model_validate_json(document)
    if job.salt is not None:
        os.environ["ENLIST_EVAL_SALT"] = job.salt
    memory = open_memory(job.memory)
    try:
        cost: dict[str, float] = {}
        try:
            with boundary("sample"):
                score, faulted, fault = _try(job, memory, cost)
        except EnlistError as error:
            _commit(memory, job, cost, fault=error)
            return
        outcome = journal.judge(job.sample, score, faulted=faulted, tries=job.faults, retries=job.retries,
                                disposition=job.disposition)
        _commit(memory, job, cost, outcome=outcome, fault=fault, score=score)
    finally:
        memory.close()


def _try(job: SampleJob, memory: Memory, cost: dict[str, float]) -> tuple[Score, bool, EnlistError | None]:
    """The score of one try, whether the solver failed by itself, and with what fault; `cost` is filled in with what the
    failure cost."""
    given = job.solving
    environment = configured(load(given.target), given.options)
    if (environment.name, environment.version) != (given.task.environment, given.task.version):
        raise EnlistError("version_mismatch", "this node has another version of the environment",
                          given=f"{environment.name} {environment.version}",
                          allowed=f"{given.task.environment} {given.task.version}",
                          fix="install the same packages on every node")
    if job.answer is not None:
        return environment.score(given.task, _kept(memory, given.task.id, job.answer)), False, None
    began = time.monotonic()
    try:
        submission = solve(given, environment, memory)
    except EnlistError as fault:
        if fault.code not in SOLVERS_FAULTS:
            raise
        cost["seconds"] = time.monotonic() - began
        return Score(task=given.task.id, value=0.0, verdict="timeout" if fault.code == "timeout" else "invalid",
                     reason=f"the solver ended with {fault.code}"), True, fault
    _keep(memory, job, submission)
    return environment.score(given.task, submission), False, None


def _keep(memory: Memory, job: SampleJob, submission: Submission) -> None:
    """Commit an answer before it is scored. One that is for another task is scored as it is, and not kept."""
    if submission.task != job.solving.task.id:
        return
    cost = _amounts(submission)
    answer = memory.put_bytes(canonical_json(submission.answer).encode(), media_type="application/json",
                              name="answer.json")
    memory.commit(job.campaign, job.attempt, [journal.answered(job.sample, job.number, answer, cost)],
                  settle=journal.settlements(job.sample, job.number, cost))


def _kept(memory: Memory, task: str, answer: ArtifactRef) -> Submission:
    return Submission(task=task, answer=json.loads(memory.open_artifact(answer).read_bytes()))


def _amounts(submission: Submission) -> dict[str, float]:
    """What a submission says it cost, by the kinds that are counted; nothing else and nothing below 0."""
    return {kind: amount for kind in ("seconds", "tokens", "usd")
            if 0 <= (amount := submission.cost.get(kind, 0.0)) < float("inf")}


def _commit(memory: Memory, job: SampleJob, cost: dict[str, float], **how: Any) -> None:
    try:
        memory.commit(job.campaign, job.attempt, [journal.ended(job.sample, job.number, job.shown, cost=cost, **how)])
    except EnlistError as error:
        if error.code != "stale_attempt":  # a newer driver has this sample now
            raise
