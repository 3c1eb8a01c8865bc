"""The benchmark itself: modules drawn from families, modules written blind, and scores by closed forms.

The truth stays here: a task carries a module's source and a device's figures. The families are drawn anew for each
seed, and the test split mixes the salt of ENLIST_EVAL_SALT into the draw; the blind modules are the same for every
seed, on a device that the seed chooses.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from enlist.environments.contract import Absent, Reference, Score, Solver, Split, Submission, Task
from enlist.environments.speed_of_light.generated import FAMILIES
from enlist.environments.speed_of_light.scoring import NUMBERS, judge, readable
from enlist.environments.speed_of_light.solvers import DEVICES, MUTANTS, SOLVERS, figures
from enlist.environments.speed_of_light.truths import Known, written_blind
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.ids import content_hash

NAME, VERSION = "speed_of_light", "1"
TEXT = Path(__file__).with_name("task.md").read_text(encoding="utf-8").partition("The truth gives,")[0].strip()
SCHEMA: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["fused_s"],
    "properties": {name: {"type": ["number", "null"], "minimum": 0} for name in NUMBERS}}


@dataclass(frozen=True)
class SpeedOfLight:
    """The environment `speed_of_light`: `per_family` modules of each family, and the blind ones where `blind`."""

    per_family: int = 2
    blind: bool = True
    name: str = NAME
    version: str = VERSION

    def tasks(self, split: Split, seed: int) -> Iterator[Task]:
        """All families in turn, then the blind modules."""
        for known, device in self._known(split, seed):
            yield Task(environment=self.name, version=self.version, split=split, seed=seed, id=known.id, text=TEXT,
                       payload={"source": known.source, "device": device, "figures": figures(device)},
                       submission_schema=SCHEMA)

    def score(self, task: Task, submission: Submission) -> Score:
        """0 (`wrong`) for a number above what is possible, else the product of the tightness of each number."""
        try:
            with boundary("speed of light score"):
                return self._judge(task, submission)
        except EnlistError as fault:
            return Score(task=task.id, value=0.0, verdict="error", reason=fault.sentence())

    def group(self, task: Task) -> str:
        """Modules of one family are not independent."""
        return task.id.partition("/")[0]

    def baselines(self) -> dict[str, Solver]:
        """`trivial` (bytes of the output alone), `classical` (torch's own counter and a roofline), `solar`."""
        return dict(SOLVERS)

    def references(self) -> dict[Reference, str | Absent]:
        """The counter is the one simple agent; nothing random or greedy makes sense of a formula."""
        absent = Absent(reason="a bound is computed: there is nothing to draw or to choose greedily")
        return {"single-agent": "classical", "random": absent, "greedy": absent,
                "oracle": Absent(reason="the truth is an interval of closed forms, not a solver")}

    def spoken(self) -> dict[str, tuple[str, ...]]:
        """What people call the environment and its solvers."""
        return {NAME: ("speed of light", "lower bounds", "roofline"), "solar": ("our bounds", "the analyzer"),
                "classical": ("flop counter", "flopcountermode")}

    def mutants(self) -> dict[str, Solver]:
        """Our method with one fault each."""
        return dict(MUTANTS)

    def as_request(self, task: Task) -> tuple[str, dict[str, bytes]]:
        """The question a person would ask, with the module attached."""
        return (f"How fast could this model run on an {task.payload['device']}? Give the lower bounds.",
                {"model.py": str(task.payload["source"]).encode()})

    def read_findings(self, task: Task, findings: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The two bounds that the findings state for the task's device."""
        by_name = {"fused lower bound": "fused_s", "unfused lower bound": "unfused_s"}
        answer = {by_name[f["predicate"]]: f["value"] for f in findings if f["predicate"] in by_name
                  and f["conditions"].get("device") == task.payload["device"]}
        return answer if "fused_s" in answer else None

    def _known(self, split: Split, seed: int) -> Iterator[tuple[Known, str]]:
        salt = os.environ.get("ENLIST_EVAL_SALT", "") if split == "test" else ""
        random = Random(content_hash([NAME, VERSION, split, seed, salt]))
        for number in range(self.per_family):
            for family in FAMILIES:
                known = family.drawn(random)
                yield known.model_copy(update={"id": f"{family.name}/{number}"}), random.choice(DEVICES)
        for known in written_blind() if self.blind else ():
            yield known.model_copy(update={"id": f"blind-{known.id}"}), random.choice(DEVICES)

    def _judge(self, task: Task, submission: Submission) -> Score:
        if submission.answer is None:
            return Score(task=task.id, value=0.0, verdict="abstained", reason="no answer")
        found = next(((k, d) for k, d in self._known(task.split, task.seed) if k.id == task.id), None)
        if found is None or (task.environment, task.version) != (NAME, VERSION):
            raise EnlistError("bad_input", "not a task of this environment", given=f"{task.environment} {task.id}",
                              allowed=f"{NAME} {VERSION}", fix="score tasks with the environment that made them")
        if submission.task != task.id or (reason := readable(submission.answer)):
            reason = reason if submission.task == task.id else "the submission is for another task"
            return Score(task=task.id, value=0.0, verdict="invalid", reason=reason)
        known, device = found
        judged = judge(known, figures(device), submission.answer)
        verdict = "wrong" if judged.wrong or judged.value == 0 else "ok"
        return Score(task=task.id, value=judged.value, verdict=verdict, parts=judged.parts,
                     reason=judged.wrong or ("" if judged.value else "low by a factor of two or more"))


SPEED_OF_LIGHT = SpeedOfLight()
