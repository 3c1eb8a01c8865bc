"""The benchmark itself: incidents on systems, their variants and controls, as tasks that carry the logs.

Each plot is asked plainly, under other names, and in the other wording; every third also with the decisive lines taken
out, and with every file in random order; in between stand healthy streams. What a task is made from stays here: its id
is a number and a hash.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from enlist.environments.contract import Absent, Reference, Score, Solver, Split, Submission, Task
from enlist.environments.incident_logs import answer as answers
from enlist.environments.incident_logs.answers import WRONG, right
from enlist.environments.incident_logs.baselines import BASELINES
from enlist.environments.incident_logs.catalog import Plot, healthy, plots
from enlist.environments.incident_logs.reference import Reference as Truth
from enlist.environments.incident_logs.scoring import judge
from enlist.environments.incident_logs.streams import packed, stream
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.ids import content_hash

NAME, VERSION = "incident_logs", "1"
TEXT = ("Attached are the logs of a system. Was there an incident? If so: what happened, when, in which service did it "
        "begin, what set it off, how did it spread, when was it noticed, mitigated and over? Name the lines that "
        "show it.")
SUMMARY = "incident report"
"""The predicate of the finding by which an agent answers: its value is the JSON of the answer."""
THIRD = 3


@dataclass(frozen=True)
class IncidentLogs:
    """The environment `incident_logs`: `per_cause` plots of each cause, streams of about `lines` lines, with other
    names and wording where `variants`, with controls where `controls`."""

    per_cause: int = 6
    lines: int = 10_000
    variants: bool = True
    controls: bool = True
    name: str = NAME
    version: str = VERSION

    def tasks(self, split: Split, seed: int) -> Iterator[Task]:
        """All plots in turn, each with its variants and controls."""
        for name, plot in self._plots(split, seed).items():
            yield Task(environment=self.name, version=self.version, split=split, seed=seed, id=name, text=TEXT,
                       payload={"files": packed(stream(plot).files)}, submission_schema=answers.SCHEMA)

    def score(self, task: Task, submission: Submission) -> Score:
        """See `scoring`: cited lines and the truth decide; nobody judges prose."""
        try:
            with boundary("incident logs score"):
                return self._judge(task, submission)
        except EnlistError as fault:
            return Score(task=task.id, value=0.0, verdict="error", reason=fault.sentence())

    def group(self, task: Task) -> str:
        """All variants of one plot."""
        return f"{task.split} {task.seed} {task.id.partition('-')[0]}"

    def about(self, task: Task) -> dict[str, str]:
        """What a report groups tasks by: cause ("" where there is none), shape, variant, control."""
        plot = self._plot(task)
        variant = "names" if plot.names is not None else "words" if plot.wording else "plain"
        return {"cause": plot.cause, "shape": plot.shape, "variant": variant, "control": plot.control}

    def baselines(self) -> dict[str, Solver]:
        """`trivial` (never an incident), `classical` (follows who blames whom), and what people do by hand."""
        return dict(BASELINES)

    def references(self) -> dict[Reference, str | Absent]:
        """The error grep is what one person does first; the truth itself is no solver."""
        absent = Absent(reason="a summary is not drawn at random")
        return {"single-agent": "error grep", "random": absent, "greedy": "first error",
                "oracle": Absent(reason="the truth is known to the generator only")}

    def spoken(self) -> dict[str, tuple[str, ...]]:
        """What people call the environment and its solvers."""
        return {NAME: ("incident logs", "log summaries"), "error grep": ("grep",), "last errors": ("tail",)}

    def mutants(self) -> dict[str, Solver]:
        """The truth with one fault each."""
        return {name: Knowing(name, make, self) for name, make in WRONG.items()}

    def knowing(self) -> Solver:
        """The truth as a solver, for tests of the score."""
        return Knowing("truth", right, self)

    def truth(self, task: Task) -> Truth:
        """The reference of a task."""
        return stream(self._plot(task)).reference

    def as_request(self, task: Task) -> tuple[str, dict[str, bytes]]:
        """The question, with the log files attached."""
        from enlist.environments.incident_logs.streams import unpacked

        return TEXT, unpacked(task.payload)

    def read_findings(self, task: Task, findings: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The answer in the last finding whose predicate is `SUMMARY`."""
        for finding in reversed(findings):
            if finding.get("predicate") == SUMMARY:
                try:
                    answer = json.loads(str(finding.get("value")))
                except ValueError:
                    continue
                if isinstance(answer, dict):
                    return answer
        return None

    def _plots(self, split: Split, seed: int) -> dict[str, Plot]:
        salt = os.environ.get("ENLIST_EVAL_SALT", "") if split == "test" else ""
        root = int(content_hash([NAME, VERSION, split, seed, salt])[:12], 16)
        found: dict[str, Plot] = {}
        told = plots(root, self.per_cause, self.lines)
        calm = healthy(root, (len(told) + 4) // 5 if self.controls else 0, self.lines)
        for number, plot in enumerate(told):
            asked = [plot]
            if self.variants:
                asked += [replace(plot, names=plot.seed + 1), replace(plot, wording=1)]
            if self.controls and number % THIRD == 1:
                asked += [replace(plot, control="removed"), replace(plot, control="shuffled")]
            if self.controls and number % 5 == 4:
                asked.append(calm[number // 5])
            for one in asked:
                mark = content_hash([root, number, one.names, one.wording, one.control])[:6]
                found[f"{number:03d}-{mark}"] = one
        return found

    def _plot(self, task: Task) -> Plot:
        found = self._plots(task.split, task.seed).get(task.id)
        if found is None or (task.environment, task.version) != (NAME, VERSION):
            raise EnlistError("bad_input", "not a task of this environment", given=f"{task.environment} {task.id}",
                              allowed=f"{NAME} {VERSION}", fix="score tasks with the environment that made them")
        return found

    def _judge(self, task: Task, submission: Submission) -> Score:
        if submission.answer is None:
            return Score(task=task.id, value=0.0, verdict="abstained", reason="no answer")
        plot = self._plot(task)
        if submission.task != task.id:
            return Score(task=task.id, value=0.0, verdict="invalid", reason="the submission is for another task")
        read, reason = answers.read(submission.answer)
        if read is None:
            return Score(task=task.id, value=0.0, verdict="invalid", reason=reason)
        written = stream(plot)
        judged = judge(read, written.reference, written.files)
        cost = {name: float(submission.cost[name]) for name in ("seconds", "tokens") if name in submission.cost}
        return Score(task=task.id, value=judged.value, verdict="ok" if judged.value > 0 else "wrong",
                     parts=judged.parts | cost, reason=judged.reason)


@dataclass(frozen=True)
class Knowing:
    """A solver that asks the environment for the truth and makes an answer of it."""

    name: str
    make: Callable[[Truth], dict[str, Any]]
    environment: IncidentLogs

    def solve(self, task: Task) -> Submission:
        """The answer that `make` gives for the truth."""
        return Submission(task=task.id, answer=self.make(self.environment.truth(task)))


INCIDENT_LOGS = IncidentLogs()
