"""What a role sees of its run through LangGraph's store, and what it cannot do there."""

import asyncio
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.conformance import finding
from enlist.tools.runtime.memory.langgraph_view import RoleStore
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory, NewRecord

OWN = ("verifier", "decision")


@pytest.fixture
def store(memory: Memory) -> RoleStore:
    """The verifier, downstream of the analyst; the writer and another run have records as well."""
    memory.commit("other-run", 0, [], [finding("o", "light elsewhere", role="analyst", value=9)])
    memory.take_lease("r", this_owner(), 600)
    memory.commit("r", 1, [], [
        finding("f1", "the speed of light", role="analyst", value=1),
        finding("f2", "light is fast", role="analyst", value=2),
        finding("f3", "light, written up", role="writer", value=3),
        NewRecord(kind="finding", id="f4", role="analyst", data={"value": 4}, text="light again", supersedes="f1")])
    return RoleStore(memory, "r", 1, "verifier", ["analyst"])


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def test_a_role_reads_its_upstream_roles_of_its_own_run(store: RoleStore) -> None:
    item = store.get(("analyst", "finding"), "f2")
    assert item is not None and item.value == {"value": 2} and item.namespace == ("analyst", "finding")
    assert store.get(("analyst", "finding"), "o") is None
    assert keys(store.search(())) == ["f2", "f4"]


def test_a_superseded_finding_is_not_found_but_can_be_named(store: RoleStore) -> None:
    assert "f1" not in keys(store.search(("analyst",)))
    assert store.get(("analyst", "finding"), "f1") is not None


@pytest.mark.parametrize("namespace", [
    ("writer", "finding"), ("writer",), ("analyst", "report"), ("nobody", "finding")])
def test_what_is_out_of_reach_is_refused_with_what_is_allowed(store: RoleStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(EnlistError) as caught:
        store.search(namespace)
    assert caught.value.code == "bad_input" and "analyst" in (caught.value.allowed or "")
    if len(namespace) == 2:
        with pytest.raises(EnlistError):
            store.get(namespace, "f3")


def test_text_search_honours_the_query_the_roles_and_the_filter(store: RoleStore) -> None:
    assert keys(store.search((), query="fast")) == ["f2"]
    assert sorted(keys(store.search((), query="light"))) == ["f2", "f4"]
    assert store.search((), query="written") == []
    assert keys(store.search((), filter={"value": {"$gt": 2, "$ne": 5}})) == ["f4"]
    assert keys(store.search((), filter={"value": 2})) == ["f2"]
    assert keys(store.search((), limit=1, offset=1)) == ["f4"]


def test_a_second_value_supersedes_and_the_first_stays_in_memory(store: RoleStore, memory: Memory) -> None:
    for value in (1, 2, 2, 1):
        store.put(OWN, "batch size", {"n": value})
    item = store.get(OWN, "batch size")
    assert item is not None and item.value == {"n": 1}
    assert [found.value for found in store.search(OWN, query="batch size")] == [{"n": 1}]
    decisions = memory.records("decision", "r")
    assert [record.data["value"]["n"] for record in decisions] == [1, 2, 1]
    assert [record.supersedes for record in decisions] == [None, decisions[0].id, decisions[1].id]


def test_nothing_is_deleted_and_nothing_of_others_is_written(store: RoleStore) -> None:
    for act in (lambda: store.delete(OWN, "k"), lambda: store.put(("analyst", "decision"), "k", {"v": 1}),
                lambda: store.put(("verifier", "finding"), "k", {"v": 1})):
        with pytest.raises(EnlistError) as caught:
            act()
        assert caught.value.code == "unsupported"


def test_namespaces_are_those_with_records(store: RoleStore) -> None:
    store.put(OWN, "k", {"v": 1})
    assert store.list_namespaces() == [("analyst", "finding"), OWN]
    assert store.list_namespaces(suffix=("decision",)) == [OWN]
    assert store.list_namespaces(prefix=("*", "finding")) == [("analyst", "finding")]
    assert store.list_namespaces(max_depth=1) == [("analyst",), ("verifier",)]


def test_the_async_methods_work(store: RoleStore) -> None:
    async def run() -> Any:
        await store.aput(OWN, "k", {"v": 1})
        return await store.aget(OWN, "k")

    assert asyncio.run(run()).value == {"v": 1}


def test_a_put_of_an_older_attempt_is_refused(store: RoleStore, memory: Memory) -> None:
    memory.release_lease("r", 1)
    memory.take_lease("r", this_owner(), 600)
    with pytest.raises(EnlistError) as caught:
        store.put(OWN, "k", {"v": 1})
    assert caught.value.code == "stale_attempt"
