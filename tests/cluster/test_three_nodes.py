"""Three nodes that share no disk: a node that dies costs only what it had in hand."""

from pathlib import Path

import pytest

from enlist.tools.runtime.events import Event

pytestmark = pytest.mark.cluster
QUICK, SLOW = "one two three\n", "four five\nsleep 6\n"


def in_slow_tool(events: list[Event]) -> bool:
    """Whether the second text's tool has begun to sleep."""
    return sum(e.kind == "tool.progress" for e in events) >= 2


def once(events: list[Event], kind: str) -> bool:
    """Whether no role or tool call has ended more than once in this way."""
    ended = [(e.role, e.data.get("key")) for e in events if e.kind == kind]
    return len(ended) == len(set(ended)) > 0


@pytest.fixture(params=["one actor", "Postgres and objects"])
def three_nodes(request, cluster):
    """A running cluster of three whose store is behind the driver's actor, or in Postgres and an object store."""
    if request.param != "one actor":
        cluster.environment.update(request.getfixturevalue("postgres"), **request.getfixturevalue("object_store"))
    cluster.start()
    yield cluster
    cluster.stop()


def test_a_worker_node_that_dies_costs_only_what_it_had_in_hand(three_nodes, side_effects: Path) -> None:
    code, whole = three_nodes.answer(three_nodes.ask(QUICK, SLOW))
    assert (code, whole["status"]) == (0, "done"), whole
    assert side_effects.read_text().split() == ["started", "finished"] * 2
    side_effects.write_text("")

    driver = three_nodes.ask(QUICK, SLOW)
    three_nodes.wait_for(in_slow_tool, driver)
    workers = three_nodes.nodes[1:]
    (busy,) = [node for node in workers if node.named("ray::tool")]
    busy.kill()
    code, document = three_nodes.answer(driver)
    assert (code, document["status"]) == (0, "done"), document
    assert document["content"] == whole["content"] and not document["reenlisted"]
    executed = side_effects.read_text().split()
    assert (executed.count("started"), executed.count("finished")) == (3, 2)  # the slow tool again, the quick one not
    three_nodes.ended.discard(document["run"])
    events = three_nodes.events()
    assert once(events, "role.finished") and once(events, "tool.finished")
