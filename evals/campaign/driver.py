"""The driver of a campaign: dispatches what is missing as Ray tasks, and is the only one that retries.

One loop under the campaign's lease. A sample is journaled before it is dispatched and by its worker when it ends, so a
driver that is killed loses at most what was running; the next one takes the lease and goes on. Ray's own retries are
off. A worker that gives no answer is killed after the sample's limits.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from enlist.evals.campaign import journal
from enlist.evals.campaign.journal import State
from enlist.evals.campaign.plan import GROUP, Plan, Sample
from enlist.evals.campaign.solving import Solving
from enlist.evals.campaign.worker import SampleJob, run_sample
from enlist.orchestrator.run import cost_of
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory.protocol import Memory, NewRecord

TICK = 0.2  # seconds between two looks at the tasks and for a wish to end
GRACE = 30.0  # seconds beyond a sample's limits after which its worker counts as lost
BUDGET_LOOK = 5.0  # seconds between two sums over the books

Watch = Callable[[list[Event]], None]


@dataclass
class Driver:
    """Drives the samples of one campaign; Ray is connected.

    Attributes:
        locator: the store's locator as workers see it.
        interrupted: tells whether this driver was asked to end (a signal, a lost lease, a stop).
        watch: is handed new events as they appear.
    """

    memory: Memory
    locator: str
    plan: Plan
    attempt: int
    interrupted: Callable[[], bool]
    watch: Watch
    state: State = field(default_factory=State)

    def drive(self) -> None:
        """Settle or give up every sample.

        Raises:
            EnlistError: `cancelled` after a wish to end, `budget_exhausted`; running samples were ended by then and
                will be tried again.
        """
        import ray

        self.state = State.read(self.memory, self.plan.id)
        waiting = list(reversed(missing(self.plan, self.state)))
        processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
        most = min(self.plan.file.parallel or processors, processors)
        running: dict[Any, tuple[Sample, float]] = {}
        task = ray.remote(run_sample)
        before, began, budget_due = cost_of(self.memory, self.plan.id)["seconds"], time.monotonic(), 0.0
        try:
            while True:
                if self.interrupted():
                    raise EnlistError("cancelled", "the campaign was stopped", fix="run the same command to go on")
                if time.monotonic() >= budget_due:
                    self._check_budget(before + time.monotonic() - began)
                    budget_due = time.monotonic() + BUDGET_LOOK
                while waiting and len(running) < most:
                    sample = waiting.pop()
                    job = self._job(sample)
                    self._commit(journal.started(sample.key, job.number, sample.shown))
                    asks = job.solving.solver.agent or job.solving.solver.team
                    reference = task.options(num_cpus=0 if asks else 1, max_retries=0, name="sample").remote(
                        job.model_dump_json())
                    running[reference] = (sample, time.monotonic())
                if not running:
                    return
                done, _ = ray.wait(list(running), num_returns=1, timeout=TICK)
                late = [r for r, (_, began) in running.items() if r not in done and self._is_late(began)]
                ended = [(running.pop(r)[0], _fault(r, cancel=r in late)) for r in (*done, *late)]
                if ended:
                    self._refresh()
                    waiting += [sample for sample, fault in ended if self._again(sample, fault)]
        except BaseException:
            self._cancel(running)
            raise

    def _is_late(self, began: float) -> bool:
        """Whether a sample that was dispatched at `began` has had its limits; time in the queue counts too, so there is
        never more in flight than can run."""
        limits = self.plan.file.limits
        return time.monotonic() - began > limits.seconds + limits.score_seconds + GRACE

    def _again(self, sample: Sample, fault: EnlistError | None) -> bool:
        """Whether a sample that ended is to be tried again; a try that its worker could not end is ended here."""
        number = self.state.starts[sample.key] - 1
        if sample.key not in self.state.outcomes and number in self.state.open.get(sample.key, ()):
            fault = fault or EnlistError("worker_died", "the worker ended without a word")
            self._commit(journal.ended(sample.key, number, sample.shown, cost={}, fault=fault))
            self._refresh()
        return sample.key not in self.state.outcomes and not self.state.given_up(sample.key, self.plan.file.retries)

    def _job(self, sample: Sample) -> SampleJob:
        file = self.plan.file
        rows = next(r for r in self.plan.rows if r.entry.shown == sample.environment)
        solver = rows.solvers[sample.solver]
        return SampleJob(
            memory=self.locator, campaign=self.plan.id, attempt=self.attempt, sample=sample.key, shown=sample.shown,
            number=self.state.starts[sample.key], faults=self.state.faults[sample.key], retries=file.retries,
            disposition=file.disposition, solving=Solving(
                target=registry.entries(GROUP)[rows.entry.name].value, options=rows.entry.options, solver=solver,
                files={name: self.plan.files[name] for name in solver.files}, limits=file.limits, task=sample.task),
            answer=self.state.answers.get(sample.key),
            salt=os.environ.get("ENLIST_EVAL_SALT") if sample.task.split == "test" else None)

    def _check_budget(self, seconds: float) -> None:
        budget, usd = self.plan.file.budget, self.memory.budget(self.plan.id, "usd").spent
        if budget.seconds is not None and seconds >= budget.seconds:
            raise EnlistError("budget_exhausted", "the campaign's time is spent", given=f"{seconds:.0f} s",
                              allowed=f"{budget.seconds:g} s", fix="raise budget.seconds in the file and run it again")
        if budget.usd is not None and usd > 0 and usd >= budget.usd:
            raise EnlistError("budget_exhausted", "the campaign's money is spent", given=f"{usd:g} USD",
                              allowed=f"{budget.usd:g} USD", fix="raise budget.usd in the file and run it again")

    def _commit(self, event: NewEvent) -> None:
        self.memory.commit(self.plan.id, self.attempt, [event])
        self._refresh()

    def _refresh(self) -> None:
        events = self.memory.events(self.plan.id, after=self.state.seq)
        self.state.fold(events)
        self.watch(events)

    def _cancel(self, running: dict[Any, tuple[Sample, float]]) -> None:
        """End what runs; its tries do not count."""
        import ray

        for reference in running:
            ray.cancel(reference, force=True)
        if running:
            ray.wait(list(running), num_returns=len(running), timeout=GRACE / 3)
        self._refresh()
        events = [journal.ended(sample.key, self.state.starts[sample.key] - 1, sample.shown, cost={})
                  for sample, _ in running.values() if sample.key not in self.state.outcomes]
        try:
            self.memory.commit(self.plan.id, self.attempt, events)
        except EnlistError as error:
            if error.code != "stale_attempt":
                raise


def missing(plan: Plan, state: State) -> list[Sample]:
    """The samples that are neither settled nor given up."""
    return [s for s in plan.samples
            if s.key not in state.outcomes and not state.given_up(s.key, plan.file.retries)]


def open_attempt(memory: Memory, plan: Plan, attempt: int) -> None:
    """Journal the campaign, once, and that this attempt begins."""
    about = {"file": plan.file.model_dump(mode="json"), "versions": dict(plan.versions), "drawn": dict(plan.drawn),
             "files": {name: ref.model_dump(mode="json") for name, ref in plan.files.items()},
             "samples": len(plan.samples)}
    memory.commit(plan.id, attempt, [
        NewEvent(kind="run.accepted", key="accepted", data={
            "request": {"text": f"campaign {plan.file.name}"},
            "pins": {"seed": 0, "snapshot": "a campaign: `enlist campaign run FILE` goes on with it",
                     "versions": dict(plan.versions)}}),
        NewEvent(kind="attempt.opened", key=f"attempt:{attempt}", data={})])
    if memory.record("plan", plan.id, "campaign") is None:
        memory.commit(plan.id, attempt, [], [NewRecord(kind="plan", id="campaign", data=about,
                                                       text=f"campaign {plan.file.name}")])


def _fault(reference: Any, *, cancel: bool) -> EnlistError | None:
    """What a task ended with, if it did not end by itself."""
    import ray
    import ray.exceptions

    if cancel:
        ray.cancel(reference, force=True)
        return EnlistError("worker_died", "the sample's worker gave no answer within its limits and was killed")
    try:
        ray.get(reference)
    except ray.exceptions.RayError as error:
        return EnlistError("worker_died", f"the sample's worker died: {type(error).__name__}",
                           details=str(error)[-1000:])
    return None
