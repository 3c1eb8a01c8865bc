"""What the specialists do, and the invariants of what they did."""

import os

from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.tools.runtime.findings import Check, Finding

SIDE_EFFECTS = "SAMPLE_SIDE_EFFECTS"  # a file to which each execution of the process tool appends a line


def count(work: Work, state: State) -> Draft:
    """Count the words of every input."""
    record = os.environ.get(SIDE_EFFECTS)
    return Draft(data={"words": [work.call("sample-counted", f"count:{one.ref.sha256}", {
        "text": one.ref.model_dump(), "record": record}).output.words for one in work.inputs]})


def check_counts(work: Work, state: State) -> list[str]:
    """A text has at most as many words as every second byte begins."""
    return [f"{one.ref.name} cannot have {words} words" for one, words in zip(
        work.inputs, state["draft"].data["words"], strict=True) if not 0 <= words <= (one.ref.bytes + 1) // 2]


def verify(work: Work, state: State) -> Draft:
    """Count again by the other route and hold every claim against it."""
    checks = []
    for _, outcome in work.upstream_outcomes("sample-counted"):
        again = work.call("sample-recount", f"recount:{outcome['input']['text']['sha256']}",
                          {"text": outcome["input"]["text"]}).output.words
        for finding in map(Finding.model_validate, outcome["findings"]):
            checks.append(Check(finding=finding.id, status="confirmed" if again == finding.value else "refuted",
                                route="characters", reason=f"counted {again} by looking at each character"))
    return Draft(checks=tuple(checks))


def check_verdicts(work: Work, state: State) -> list[str]:
    """Every claim has a verdict."""
    judged = {check.finding for check in state["draft"].checks}
    return [f"no verdict on: {f.text}" for f in work.upstream_findings() if f.id not in judged]
