"""The store behind an actor holds what every store must hold, from other processes of a Ray cluster too."""

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.actor import BLOCK_BYTES, ActorMemory, serve
from enlist.tools.runtime.memory.conformance import CHECKS, finding, note
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.sqlite import SqliteMemory

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A Ray of two nodes on this machine, with a token of its own; the driver is on the first."""
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")  # before the import of ray
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        cluster.add_node(num_cpus=2, resources={"elsewhere": 4})
        ray.init(address=cluster.address, log_to_driver=False, namespace="enlist")
        yield ray
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def make_served(ray: object, tmp_path: Path) -> Callable[[], ActorMemory]:
    """Makes a new store behind a new actor at each call."""
    made: list[ActorMemory] = []

    def make() -> ActorMemory:
        number = len(made)
        made.append(ActorMemory(tmp_path / str(number) / "store.db", cache=tmp_path / f"cache{number}"))
        return made[-1]

    return make


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_actor_passes(check: Callable[[Callable[[], Memory]], None], make_served: Callable[[], Memory]) -> None:
    check(make_served)


def test_four_tasks_of_another_node_write_at_once_and_lose_nothing(ray, make_served: Callable[[], Memory]) -> None:  # type: ignore[no-untyped-def]
    memory = make_served()

    def write(locator: str, name: str) -> None:
        store = open_memory(locator)
        for number in range(50):
            store.commit("a", 0, [note(by=name, n=number)], [finding(f"{name}-{number}")])

    task = ray.remote(num_cpus=0.5, max_retries=0, resources={"elsewhere": 1})(write)
    ray.get([task.remote(memory.locator(), f"w{number}") for number in range(4)])
    events = memory.events("a")
    assert [event.seq for event in events] == list(range(1, 201))
    assert len({(event.data["by"], event.data["n"]) for event in events}) == 200


def test_killing_the_actor_under_load_loses_and_doubles_nothing(ray, make_served: Callable[[], Memory]) -> None:  # type: ignore[no-untyped-def]
    memory = make_served()
    acknowledged: list[int] = []

    def commit_all() -> None:
        for number in range(600):  # events without a key: a commit carried out twice would show
            acknowledged.extend(memory.commit("a", 0, [note(n=number)]))

    writer = threading.Thread(target=commit_all)
    writer.start()
    for goal in (100, 250, 400):
        while len(acknowledged) < goal and writer.is_alive():
            time.sleep(0.01)
        os.kill(ray.get(actor_of(ray, memory).__ray_call__.remote(lambda keeper: os.getpid())), signal.SIGKILL)
    writer.join()
    assert acknowledged == list(range(1, 601))
    assert [event.data["n"] for event in memory.events("a")] == list(range(600))


def actor_of(ray, memory: Memory):  # type: ignore[no-untyped-def]
    return ray.get_actor(memory.locator().removeprefix("actor:").split("?")[0], namespace="enlist")


def test_an_actor_that_is_gone_for_good_is_made_again(ray, make_served: Callable[[], Memory]) -> None:  # type: ignore[no-untyped-def]
    memory = make_served()
    memory.commit("a", 0, [note()])
    ray.kill(actor_of(ray, memory), no_restart=True)
    assert memory.commit("a", 0, [note()]) == [2]


def test_a_repeated_call_with_one_token_is_carried_out_once(tmp_path: Path) -> None:
    memory = SqliteMemory(tmp_path / "store.db")
    assert memory.commit("a", 0, [note()], token="t") == memory.commit("a", 0, [note()], token="t") == [1]
    assert len(memory.events("a")) == 1
    first = memory.take_lease("a", this_owner(), 600, token="u")
    assert memory.take_lease("a", this_owner(), 600, token="u") == first


def test_large_artifacts_travel_in_blocks_and_are_cached(
        make_served: Callable[[], ActorMemory], tmp_path: Path) -> None:
    memory = make_served()
    data = os.urandom(2 * BLOCK_BYTES + 17)
    (tmp_path / "big").write_bytes(data)
    ref = memory.put_file(tmp_path / "big", media_type="application/octet-stream", name="big")
    assert memory.put_bytes(data, media_type="application/octet-stream", name="big") == ref
    path = memory.open_artifact(ref)
    assert path.read_bytes() == data and path.is_relative_to(tmp_path / "cache0")
    inode = path.stat().st_ino
    assert memory.open_artifact(ref).stat().st_ino == inode
    empty = memory.put_bytes(b"", media_type="text/plain", name="nothing")
    assert memory.open_artifact(empty).read_bytes() == b""


def test_another_node_reads_and_keeps_artifacts_of_a_served_store(ray, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    memory = SqliteMemory(tmp_path / "store.db")
    ours = memory.put_bytes(b"from the driver", media_type="text/plain", name="ours")

    def exchange(locator: str) -> tuple[str, bytes, object]:
        store = open_memory(locator)
        path = store.open_artifact(ours)
        return (ray.get_runtime_context().get_node_id(), path.read_bytes(),
                store.put_bytes(b"from the node", media_type="text/plain", name="theirs"))

    locator = serve(memory)
    node, read, theirs = ray.get(ray.remote(max_retries=0, resources={"elsewhere": 1})(exchange).remote(locator))
    assert node != ray.get_runtime_context().get_node_id() and read == b"from the driver"
    assert memory.open_artifact(theirs).read_bytes() == b"from the node"
    actor = actor_of(ray, open_memory(locator))
    where = ray.get(actor.__ray_call__.remote(lambda keeper: ray.get_runtime_context().get_node_id()))
    assert where == ray.get_runtime_context().get_node_id()  # the actor stays with the file


def test_faults_of_the_store_cross_intact(make_served: Callable[[], ActorMemory], tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "store.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(EnlistError) as caught:
        make_served().events("a")
    assert caught.value.code == "bad_input" and caught.value.fix is not None
