"""What a tool call needs of the cluster before it is handed to Ray."""

from dataclasses import replace
from typing import Any

import pytest
import ray

from enlist.agents import calls
from enlist.tools.runtime.errors import EnlistError
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
