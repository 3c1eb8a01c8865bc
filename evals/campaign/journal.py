"""What the store knows about a campaign, folded out of its journal.

Every try of a sample leaves notes: before it is dispatched, when the solver has answered, and when it ended. An answer
that could not be scored is scored again and not solved again. The note of the try that settled the sample carries its
outcome and a key of its own, so a sample is settled once. A try without an end was lost
with its driver; lost tries have a cap of their own, so that a sample that takes the machine down is given up too.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from enlist.environments.contract import Score, Verdict
from enlist.evals.campaign.file import Disposition
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import Event, NewEvent
from enlist.tools.runtime.memory.protocol import Memory, Settlement

Status = Literal["accepted", "running", "done", "partial", "budget", "interrupted"]
MOST_LOST = 5  # tries lost with their driver before the sample is given up


class Outcome(BaseModel):
    """How a sample was settled: `counted` False where it was left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sample: str
    verdict: Verdict
    value: float = Field(ge=0, le=1)
    parts: dict[str, float] = Field(default_factory=dict)
    reason: str = ""
    counted: bool = True
    tries: int


@dataclass
class State:
    """The samples of a campaign so far.

    Attributes:
        outcomes: settled samples by key.
        faults: failed tries by sample, ours and the solver's. starts: all tries begun. open: tries without an end yet.
        costs: what was spent by sample over all its tries: seconds, tokens, usd.
        answers: the last answer of each sample, JSON.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    starts: Counter[str] = field(default_factory=Counter)
    open: dict[str, set[int]] = field(default_factory=dict)
    costs: dict[str, Counter[str]] = field(default_factory=dict)
    answers: dict[str, ArtifactRef] = field(default_factory=dict)
    status: Status = "accepted"
    seq: int = 0

    @classmethod
    def read(cls, memory: Memory, campaign: str) -> "State":
        """Fold the whole journal."""
        state = cls()
        state.fold(memory.events(campaign))
        return state

    def fold(self, events: Iterable[Event]) -> None:
        """Fold more events."""
        for event in events:
            self.seq = event.seq
            if event.kind == "attempt.opened":
                self.status = "running"
            elif event.kind in ("run.interrupted", "run.finished"):
                self.status = "interrupted" if event.kind == "run.interrupted" else event.data["status"]
            elif event.kind == "note" and "sample" in event.data:
                self._fold_note(event.data["sample"], event.data)

    def _fold_note(self, sample: str, data: dict[str, Any]) -> None:
        if data["what"] == "started":
            self.starts[sample] += 1
            self.open.setdefault(sample, set()).add(data["try"])
            return
        self.costs.setdefault(sample, Counter()).update(data["cost"])
        if data["what"] == "answered":
            self.answers[sample] = ArtifactRef.model_validate(data["answer"])
            return
        self.open.setdefault(sample, set()).discard(data["try"])
        if data["what"] == "settled":
            self.outcomes[sample] = Outcome.model_validate(data["outcome"])
        elif data["what"] == "failed":
            self.faults[sample] += 1
            self.reasons[sample] = data["reason"]

    def given_up(self, sample: str, retries: int) -> bool:
        """Whether a sample without an outcome is not tried again."""
        return self.faults[sample] > retries or self.lost(sample) >= MOST_LOST

    def lost(self, sample: str) -> int:
        """Tries without an end; of a sample that runs now, this try too."""
        return len(self.open.get(sample, ()))

    def why(self, sample: str) -> str:
        """Why a sample was given up."""
        return self.reasons.get(sample) or f"{self.lost(sample)} drivers ended while it ran"


def started(sample: str, number: int, shown: str) -> NewEvent:
    """The note before try `number` (from 0) of a sample."""
    return NewEvent(kind="note", key=f"started:{sample}:{number}", data={
        "what": "started", "sample": sample, "try": number, "text": ""})


def answered(sample: str, number: int, answer: ArtifactRef, cost: dict[str, float]) -> NewEvent:
    """The note that the solver has answered."""
    return NewEvent(kind="note", key=f"answered:{sample}:{number}", data={
        "what": "answered", "sample": sample, "try": number, "cost": cost, "answer": answer.model_dump(mode="json"),
        "text": ""})


def ended(sample: str, number: int, shown: str, *, cost: dict[str, float], outcome: Outcome | None = None,
          fault: EnlistError | None = None, score: Score | None = None) -> NewEvent:
    """The note after a try: settled with an outcome, failed with a fault or a score that is not to count, or cancelled.
    """
    if outcome is not None:
        return NewEvent(kind="note", key=f"settled:{sample}", data={
            "what": "settled", "sample": sample, "try": number, "cost": cost,
            "outcome": outcome.model_dump(mode="json"),
            "text": f"{shown}: {outcome.verdict} {outcome.value:.3f}"})
    if fault is None and score is None:
        return NewEvent(kind="note", key=f"ended:{sample}:{number}", data={
            "what": "cancelled", "sample": sample, "try": number, "cost": cost, "text": ""})
    reason = fault.sentence() if fault is not None else f"{score.verdict}: {score.reason}" if score is not None else ""
    return NewEvent(kind="note", key=f"ended:{sample}:{number}", data={
        "what": "failed", "sample": sample, "try": number, "cost": cost, "reason": reason[:500],
        "fault": fault.to_dict() if fault is not None else None, "text": f"{shown}: try {number + 1}: {reason[:160]}"})


def settlements(sample: str, number: int, cost: dict[str, float]) -> list[Settlement]:
    """What a try spent of the campaign's tokens and dollars, for the store's books."""
    return [Settlement(kind=kind, key=f"{sample}:{number}", amount=cost[kind])
            for kind in ("tokens", "usd") if cost.get(kind, 0) > 0]


def judge(sample: str, score: Score, *, faulted: bool, tries: int, retries: int, disposition: Disposition
          ) -> Outcome | None:
    """The outcome that a try settles its sample with, or None where the sample is to be tried again or given up.

    Args:
        faulted: the solver hung or crashed, so the disposition applies.
        tries: failed tries before this one.
    """
    if score.verdict == "error":
        return None
    again = faulted and disposition == "retry" and tries < retries
    if again:
        return None
    return Outcome(sample=sample, verdict=score.verdict, value=score.value, parts=score.parts, reason=score.reason,
                   counted=not (faulted and disposition == "skip"), tries=tries + 1)
