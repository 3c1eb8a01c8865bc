"""The claims of a leaderboard, and a verifier that finds every number that was altered."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from enlist.evals.campaign import verifier
from enlist.evals.campaign.tool import LEADERBOARD, Leaderboard, Samples, findings, section
from enlist.tools.runtime.findings import Finding, ToolEvidence
from enlist.tools.runtime.memory import open_memory

NUMBERS = np.random.default_rng(0)
SCORES = {"a": NUMBERS.random(30).round(2).tolist(), "b": (NUMBERS.random(30) ** 3).round(2).tolist(), "c": [1.0] * 30}


@dataclass
class Stand:
    """What the verifier sees of its role."""

    memory: Any
    outcome: dict[str, Any]
    made: list[Finding]
    knobs: dict[str, Any] = field(default_factory=lambda: {"draws": 2000})

    def upstream_findings(self) -> list[Finding]:
        return self.made

    def upstream_outcomes(self, tool: str) -> list[tuple[str, dict[str, Any]]]:
        return [("analyst", self.outcome)]


@pytest.fixture
def stand(made, tmp_path):
    memory = open_memory(f"sqlite://{tmp_path}/store.db")
    table = memory.put_bytes(made(SCORES).model_dump_json().encode(), media_type="application/json", name="s.json")
    given = Samples(table=table)

    class Context:
        def open_artifact(self, ref):
            return memory.open_artifact(ref)

    output = LEADERBOARD.function()(given, Context())
    found = findings("benchmark_campaign", given, output, lambda pointer: ToolEvidence(
        tool="campaign-leaderboard", version="1", input_sha256="0" * 64, pointer=pointer))
    outcome = {"input": given.model_dump(mode="json"), "output": output.model_dump(mode="json")}
    yield Stand(memory, outcome, found)
    memory.close()


def verdicts(stand):
    stand.outcome["findings"] = [f.model_dump(mode="json") for f in stand.made]
    return {c.finding: c for c in verifier.act(stand, {}).checks}


def test_every_honest_claim_is_confirmed(stand):
    checks = verdicts(stand)
    assert len(stand.made) == 3 * 2 + 2 == len(checks)
    assert {c.status for c in checks.values()} == {"confirmed"}, [c for c in checks.values() if c.status != "confirmed"]


@pytest.mark.parametrize(("predicate", "what", "by"), [
    ("mean score", "value", 0.001), ("mean score", "low", -0.15), ("mean score", "high", 0.2),
    ("mean score", "tasks", 1), ("successes", "value", 1), ("successes", "samples", -1),
    ("paired difference", "value", 0.001), ("paired difference", "p", 0.4), ("paired difference", "adjusted_p", 0.1),
    ("paired difference", "low", 0.2)])
def test_an_altered_number_is_refuted(stand, predicate, what, by):
    place = next(i for i, f in enumerate(stand.made) if f.predicate == predicate and f.conditions["solver"] == "b")
    honest = stand.made[place]
    changed = {"value": honest.value + by} if what == "value" else {
        "conditions": {**honest.conditions, what: honest.conditions[what] + by}}
    stand.made[place] = honest.model_copy(update={"id": "altered", **changed})
    assert verdicts(stand)["altered"].status == "refuted"


def test_the_section_says_each_claim_once_and_points_at_it(stand):
    output = Leaderboard.model_validate(stand.outcome["output"])
    (made,) = section([(Samples.model_validate(stand.outcome["input"]), output, tuple(stand.made))], {}, {})
    cited = [f for sentence in made.lead for f in sentence.findings]
    by_id = {f.id: f for f in stand.made}
    assert len(cited) == len(set(cited)) == 5 and all(by_id[f].predicate != "successes" for f in cited)
    assert made.next == "enlist campaign show c1" and len(made.figures) == 1


def test_a_file_that_holds_no_samples_is_refused(stand, tmp_path):
    from enlist.evals.campaign.tool import read_table
    from enlist.tools.runtime.errors import EnlistError

    for data in (b"", b"[]", b"{}", b"\xff"):
        with pytest.raises(EnlistError, match="does not hold the samples"):
            read_table(data)
