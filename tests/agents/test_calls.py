"""What a tool call needs of the cluster before it is handed to Ray, and what a rework asks again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray

from enlist.agents import calls
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Finding, RequestEvidence
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import NewRecord
from enlist.tools.runtime.tool import Resources, Tool


def node(alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"Alive": alive, "Resources": resources}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setattr(calls, "NODE_WAIT", 0.0)
    return replace(calls.declared("solar-check"), resources=Resources(cpus=2.0, gpus=1.0, custom={"scanner": 1.0}))


def test_a_resource_that_no_node_can_give_is_named(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node(CPU=8.0, GPU=4.0), node(CPU=1.0, GPU=1.0, scanner=1.0), node(False, CPU=9, GPU=9, scanner=9)]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    with pytest.raises(EnlistError) as fault:
        calls.require(tool)
    assert fault.value.code == "unschedulable" and fault.value.kind == "user"
    assert "'scanner': 1.0" in (fault.value.given or "") and "'CPU': 8.0" in (fault.value.allowed or "")


def test_one_node_that_has_it_all_is_enough_and_one_that_comes_late_is_waited_for(
        tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "NODE_WAIT", 30.0)
    monkeypatch.setattr(calls, "NODE_LOOK", 0.01)
    looks = iter([[], [node(CPU=8.0)], [node(CPU=8.0), node(CPU=2.0, GPU=1.0, scanner=1.0)]])
    monkeypatch.setattr(ray, "nodes", lambda: next(looks))
    calls.require(tool)
    assert next(looks, None) is None


CALL = calls.Call(memory="", run="r", attempt=1, role="a", agent="x", capability="c", step="s", tool="solar-check",
                  limit=60.0, input=calls.declared("solar-check").example)


def test_a_rework_asks_again_only_what_may_be_answered_otherwise(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    again = CALL.model_copy(update={"rework": 1, "agent": "y", "filling": 2})
    assert again.key() == CALL.key()
    monkeypatch.setattr(calls, "declared", lambda name: replace(tool, deterministic=False))
    assert again.key() != CALL.key() and CALL.model_copy(update={"agent": "y"}).key() == CALL.key()


def test_a_claim_made_anew_supersedes_the_refuted_one_about_the_same_thing(tmp_path: Path) -> None:
    def claim(value: float, subject: str = "it") -> Finding:
        return Finding.make(template="{subject} is {value} {{}}", capability="c", subject=subject, predicate="p",
                            value=value, tier="computed", evidence=(RequestEvidence(quote="q"),))

    memory, old = open_memory(f"sqlite://{tmp_path / 'store.db'}"), claim(1.0)
    memory.commit("r", 0, [], [NewRecord(kind="finding", id=old.id, data=old.model_dump(mode="json"))])
    call = CALL.model_copy(update={"corrects": (old.id, "of no finding")})
    new, other, same = calls._correcting(memory, call, [claim(2.0), claim(2.0, "that"), claim(1.0)])
    assert new.supersedes == old.id and new.text == claim(2.0).text and new.id not in (old.id, claim(2.0).id)
    assert other == claim(2.0, "that") and same == old
