"""The benchmark of the plug-in: count the words of a generated text."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from enlist.environments.contract import Absent, Reference, Score, Solver, Split, Submission, Task

WORDS = ("one", "two", "three", "four")
SCHEMA = {"type": "object", "required": ["words"], "additionalProperties": False,
          "properties": {"words": {"type": "integer", "minimum": 0}}}


@dataclass(frozen=True)
class Counter:
    """A solver: `how` is split, first, random or zero."""

    name: str
    how: str

    def solve(self, task: Task) -> Submission:
        text = task.payload["text"]
        words = {"split": lambda: len(text.split()), "first": lambda: len(text.partition("\n")[0].split()),
                 "random": lambda: Random(text).randrange(20), "zero": lambda: 0}[self.how]()
        return Submission(task=task.id, answer={"words": words})


@dataclass(frozen=True)
class SampleWords:
    """The environment `sample-words`: `count` texts for each seed. `fault` makes scoring misbehave, as tests of
    campaigns need it: "error", "dies" or "hangs"."""

    count: int = 6
    fault: str = ""
    name: str = "sample-words"
    version: str = "1"

    def tasks(self, split: Split, seed: int) -> Iterator[Task]:
        for number in range(self.count):
            random = Random(f"{split}:{seed}:{number}")
            lines = [" ".join(random.choices(WORDS, k=random.randrange(1, 6))) for _ in range(random.randrange(1, 4))]
            yield Task(environment=self.name, version=self.version, split=split, seed=seed, id=f"text-{number}",
                       text="How many words does this text have?", payload={"text": "\n".join(lines)},
                       submission_schema=SCHEMA)

    def score(self, task: Task, submission: Submission) -> Score:
        self._misbehave()
        answer, right = submission.answer, len(task.payload["text"].split())
        if answer is None:
            return Score(task=task.id, value=0.0, verdict="abstained", reason="no answer")
        if set(answer) != {"words"} or type(answer["words"]) is not int or submission.task != task.id:
            return Score(task=task.id, value=0.0, verdict="invalid", reason="not a number of words")
        if answer["words"] != right:
            return Score(task=task.id, value=0.0, verdict="wrong", reason=f"{answer['words']} is not it")
        return Score(task=task.id, value=1.0, verdict="ok", parts={"words": float(right)})

    def baselines(self) -> dict[str, Solver]:
        return {name: Counter(name, how) for name, how in (
            ("trivial", "zero"), ("random", "random"), ("first-line", "first"), ("classical", "split"))}

    def mutants(self) -> dict[str, Solver]:
        return {"zero": Counter("zero", "zero")}

    def references(self) -> Mapping[Reference, str | Absent]:
        return {"oracle": "classical", "greedy": Absent(reason="there is nothing to be greedy about")}

    def spoken(self) -> Mapping[str, tuple[str, ...]]:
        return {"sample-words": ("word counting",), "classical": ("splitter",), "first-line": ("first line reader",)}

    def as_request(self, task: Task) -> tuple[str, dict[str, bytes]]:
        return "count the words in this text", {"notes.txt": (task.payload["text"] + "\n").encode()}

    def read_findings(self, task: Task, findings: list[dict[str, Any]]) -> dict[str, Any] | None:
        counted = [f["value"] for f in findings if f["predicate"] == "words"]
        return {"words": counted[0]} if counted else None

    def _misbehave(self) -> None:
        if self.fault == "dies":
            os._exit(9)
        if self.fault == "hangs":
            time.sleep(3600)
        if self.fault == "error":
            raise RuntimeError("the scorer is broken")


SAMPLE_WORDS = SampleWords()
