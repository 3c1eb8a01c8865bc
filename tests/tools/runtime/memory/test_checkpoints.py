"""LangGraph's checkpoints in a store: a graph goes on after kill -9, and the cache can be thrown away."""

import asyncio
import operator
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.conformance import finding
from enlist.tools.runtime.memory.langgraph_view import MemorySaver
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory

CONFIG: Any = {"configurable": {"thread_id": "analyst"}}


class State(TypedDict):
    steps: Annotated[list[str], operator.add]


@pytest.fixture
def saver(memory: Memory) -> MemorySaver:
    memory.take_lease("r", this_owner(), 600)
    return MemorySaver(memory, "r", 1)


def counting_graph(checkpointer: Any) -> Any:
    """act -> check, back to act until there are four steps."""
    graph = StateGraph(State)
    graph.add_node("act", lambda state: {"steps": ["act"]})
    graph.add_node("check", lambda state: {"steps": ["check"]})
    graph.add_edge(START, "act")
    graph.add_edge("act", "check")
    graph.add_conditional_edges("check", lambda state: END if len(state["steps"]) >= 4 else "act")
    return graph.compile(checkpointer=checkpointer)


def shape(history: list[Any]) -> list[Any]:
    return [(state.values, state.next, state.metadata["step"], state.metadata["source"]) for state in history]


def test_history_is_that_of_langgraphs_own_saver(saver: MemorySaver) -> None:
    ours, theirs = counting_graph(saver), counting_graph(InMemorySaver())
    for graph in (ours, theirs):
        graph.invoke({"steps": []}, CONFIG)
    assert shape(list(ours.get_state_history(CONFIG))) == shape(list(theirs.get_state_history(CONFIG)))


def test_the_async_methods_give_the_same(saver: MemorySaver) -> None:
    async def run() -> list[Any]:
        graph = counting_graph(saver)
        await graph.ainvoke({"steps": []}, CONFIG)
        return [state async for state in graph.aget_state_history(CONFIG)]

    theirs = counting_graph(InMemorySaver())
    theirs.invoke({"steps": []}, CONFIG)
    assert shape(asyncio.run(run())) == shape(list(theirs.get_state_history(CONFIG)))


def test_an_interrupted_graph_is_resumed_by_another_process_object(memory: Memory, saver: MemorySaver) -> None:
    def build(checkpointer: MemorySaver) -> Any:
        graph = StateGraph(State)
        graph.add_node("ask", lambda state: {"steps": [interrupt("which?")]})
        graph.add_edge(START, "ask")
        return graph.compile(checkpointer=checkpointer)

    assert build(saver).invoke({"steps": []}, CONFIG)["__interrupt__"][0].value == "which?"
    assert build(MemorySaver(memory, "r", 1)).invoke(Command(resume="this"), CONFIG)["steps"] == ["this"]


def test_a_graph_goes_on_after_kill_9(tmp_path: Path) -> None:
    script = """
import os, sys, time
from pathlib import Path
from typing import TypedDict
from langgraph.graph import START, StateGraph
from enlist.tools.runtime.memory.langgraph_view import MemorySaver
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.sqlite import SqliteMemory
memory, log = SqliteMemory(Path(sys.argv[1])), Path(sys.argv[2])
attempt = memory.take_lease("r", this_owner(), 600).attempt
def node(name):
    def run(state):
        with log.open("a") as file:
            file.write(name + "\\n")
        if name == "second" and attempt == 1:
            os.kill(os.getpid(), 9)
        return {"last": name}
    return run
graph = StateGraph(TypedDict("State", {"last": str}))
for name in ("first", "second", "third"):
    graph.add_node(name, node(name))
graph.add_edge(START, "first")
graph.add_edge("first", "second")
graph.add_edge("second", "third")
app = graph.compile(checkpointer=MemorySaver(memory, "r", attempt))
app.invoke({"last": ""} if attempt == 1 else None, {"configurable": {"thread_id": "t"}}, durability="sync")
"""
    arguments = [sys.executable, "-c", script, str(tmp_path / "store.db"), str(tmp_path / "log")]
    assert subprocess.run(arguments, timeout=120).returncode == -signal.SIGKILL
    assert subprocess.run(arguments, timeout=120).returncode == 0
    assert (tmp_path / "log").read_text().split() == ["first", "second", "second", "third"]


def test_throwing_the_cache_away_leaves_the_rest(memory: Memory, saver: MemorySaver) -> None:
    memory.commit("r", 1, [], [finding("f")])
    graph = counting_graph(saver)
    graph.invoke({"steps": []}, CONFIG)
    graph.invoke({"steps": []}, {"configurable": {"thread_id": "other"}})
    saver.delete_thread("analyst")
    assert saver.get_tuple(CONFIG) is None and saver.get_tuple({"configurable": {"thread_id": "other"}}) is not None
    assert memory.record("finding", "r", "f") is not None
    assert graph.invoke({"steps": []}, CONFIG)["steps"] == ["act", "check"] * 2


def test_a_graph_of_an_older_attempt_is_stopped(memory: Memory, saver: MemorySaver) -> None:
    memory.release_lease("r", 1)
    memory.take_lease("r", this_owner(), 600)
    with pytest.raises(EnlistError) as caught:
        counting_graph(saver).invoke({"steps": []}, CONFIG)
    assert caught.value.code == "stale_attempt"


def test_runs_do_not_see_each_others_threads(memory: Memory, saver: MemorySaver) -> None:
    counting_graph(saver).invoke({"steps": []}, CONFIG)
    assert MemorySaver(memory, "another", 0).get_tuple(CONFIG) is None


def test_errors_are_replaced_and_other_writes_are_kept(saver: MemorySaver) -> None:
    checkpoint = empty_checkpoint()
    place = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {"step": 0}, {})
    for value in ("first", "second"):
        saver.put_writes(place, [("channel", value), (ERROR, value), (INTERRUPT, value + "!")], "task")
    found = saver.get_tuple(place)
    assert found is not None
    assert sorted(found.pending_writes or []) == sorted(
        [("task", "channel", "first"), ("task", ERROR, "second"), ("task", INTERRUPT, "second!")])


def test_versions_sort_as_strings(saver: MemorySaver) -> None:
    versions: list[str] = []
    for _ in range(12):
        versions.append(saver.get_next_version(versions[-1] if versions else None, None))
    assert versions == sorted(versions) and len(set(versions)) == 12


@dataclass
class Loaded:
    """A class of this program; bringing one to life would run its code."""

    value: int
    made: ClassVar[list[int]] = []

    def __post_init__(self) -> None:
        self.made.append(self.value)


def test_what_is_read_back_makes_no_objects_of_the_programs_classes(memory: Memory) -> None:
    saver = MemorySaver(memory, "r", 0)
    place = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, empty_checkpoint(), {"step": 0}, {})
    saver.put_writes(place, [("plain", {"a": [1, 2.5, None]}), ("object", Loaded(7))], "task")
    Loaded.made.clear()
    found = saver.get_tuple(place)
    assert found is not None
    values = {channel: value for _, channel, value in found.pending_writes or []}
    assert values["plain"] == {"a": [1, 2.5, None]}
    assert Loaded.made == [] and not isinstance(values["object"], Loaded)
