"""Ray under a run: a local instance of the run's own, or a cluster that exists.

A local Ray starts in the background while the plan is made. It uses token authentication with a private token under
ENLIST_HOME, no dashboard, and keeps what workers print off our standard output. Ray's processes are tied to the thread
that started them, so that thread lives as long as the connection; when the driver dies, they die.
"""

import logging
import os
import platform
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, TypeVar

from enlist.orchestrator import reaper
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.keeping import FORMS, NAME_ONE
from enlist.tools.runtime.memory.protocol import Memory

Result = TypeVar("Result")
PROTOCOL = 1  # of Assignment, Call and the journal; nodes with another number are refused
TOKEN_FILE = "ray-token"
KNOCK = 5.0  # seconds that a cluster's port gets to answer
LOOK, LOST = 2.0, 20.0
"""Seconds between two knocks at the head during a run, and how long it may be silent before it counts as lost: well
below the 60 s after which Ray ends every process of a cluster whose head is gone, the driver too."""
GRACE = 15.0  # seconds that a driver without a head gets to end in good order
ANSWER = 60.0  # seconds that a node gets to answer


def prepare_environment(home: Path, mode: str) -> None:
    """Set Ray's authentication for this process and its children, before Ray is imported."""
    os.environ["RAY_AUTH_MODE"] = mode
    if mode == "token" and not os.environ.get("RAY_AUTH_TOKEN") and not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(private_token(home))
    os.environ["RAY_DISABLE_FAILURE_SIGNAL_HANDLER"] = "1"  # it would abort the driver on SIGTERM, before our handler
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")


def private_token(home: Path) -> Path:
    """The file with this user's Ray token, made on first use, readable by nobody else."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / TOKEN_FILE
    if not path.is_file():
        temporary = home / f".{TOKEN_FILE}.{os.getpid()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
        try:
            os.link(temporary, path)  # the first of several processes wins
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return path


def versions() -> dict[str, str]:
    """What must agree between the driver and every node."""
    from importlib.metadata import version

    return {"python": ".".join(platform.python_version_tuple()[:2]), "ray": version("ray"),
            "enlist": version("enlist"), "protocol": str(PROTOCOL)}


def check_address(address: str) -> None:
    """Refuse an address where no cluster can be, before a run is made.

    Raises:
        EnlistError: `bad_input` for another form than HOST:PORT, `not_found` where nothing listens there.
    """
    if not address or address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise EnlistError("bad_input", "this is no address of a Ray cluster", given=repr(address),
                          allowed="HOST:PORT, as deploy/start-node.sh head prints it, or auto", fix="correct --address")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except (OSError, OverflowError) as error:
        raise EnlistError("not_found", f"nothing answers at this address: {error}", given=address,
                          fix="start a cluster (see deploy/), or leave --address away for a local Ray") from error


_GAVE_UP = threading.Event()


def gave_up() -> bool:
    """Whether this process left Ray without a goodbye; it must end by `os._exit`, since Ray's own end hangs or crashes
    without a head."""
    return _GAVE_UP.is_set()


class Connection:
    """A connection to Ray that is made in the background; `ready` waits for it and raises what went wrong."""

    def __init__(self, home: Path, address: str, auth_mode: str) -> None:
        self.address = address
        prepare_environment(home, auth_mode)
        self._reaper = None if address else reaper.start()
        self._done, self._close = threading.Event(), threading.Event()
        self._error: EnlistError | None = None
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="ray-connection", daemon=True)
        self._thread.start()

    def ready(self, timeout: float = 120.0) -> None:
        """Wait until Ray can be used.

        Raises:
            EnlistError: `not_found` where no cluster answers, `version_mismatch`, `worker_died` where Ray does not
                start in time.
        """
        if not self._done.wait(timeout):
            raise EnlistError("worker_died", f"Ray did not start in {timeout:.0f} s",
                              fix="see `enlist doctor`; free memory or processors and try again")
        if self._error is not None:
            raise self._error

    def guard(self, work: Callable[[], Result]) -> Result:
        """What `work` gives or raises, done in a thread of its own: without a head, a call of Ray may never return.

        Raises:
            EnlistError: `worker_died` where `work` has not ended `GRACE` seconds after the head was given up.
        """
        done: Future[Result] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # the caller's to judge
                done.set_exception(error)

        threading.Thread(target=do, name="executor", daemon=True).start()
        given_up: float | None = None
        while True:
            wait([done], timeout=0.1)  # short, so that signals are handled
            if done.done():
                return done.result()
            if self.lost() and given_up is None:
                given_up = time.monotonic()
            if given_up is not None and time.monotonic() - given_up > GRACE:
                raise EnlistError("worker_died", "the head of the cluster is gone")

    def close(self) -> None:
        """End the connection, and the local Ray with it; without a head nobody waits for Ray to say goodbye."""
        self._close.set()
        if self.lost():
            _GAVE_UP.set()
            return
        self._thread.join(30.0)
        if self._reaper is not None:
            self._reaper.communicate()  # it sees the pipe close and ends what is left

    def lost(self) -> bool:
        """Whether the cluster's head has been silent for `LOST` seconds; never of a local Ray, which dies with us."""
        return self._lost.is_set()

    def check_store(self, memory: Memory, locator: str) -> None:
        """See that every node reads, by `locator`, an artifact that was put here just now.

        Raises:
            EnlistError: the fault that a node met, named with the node and what to do; `worker_died` where one does not
                answer.
        """
        ref = memory.put_bytes(f"to be read on every node {secrets.token_hex(8)}".encode(), media_type="text/plain",
                               name="probe")
        for id, fault in self._on_every_node(read_probe, locator, ref.model_dump_json()):
            if fault is not None:
                told = EnlistError.from_dict(fault)
                shared = told.code == "not_found" and "artifact" in told.message
                raise EnlistError(told.code, f"node {id[:12]} cannot use the run's store: {told.message}",
                                  given=told.given, details=told.details,
                                  fix="name a folder that every node sees, or an object store, with ENLIST_ARTIFACTS"
                                  if shared else told.fix)

    def _on_every_node(self, function: Callable[..., Any], *arguments: Any) -> Iterator[tuple[str, Any]]:
        """(id of a node, what the function returned there)."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = ray.remote(function)
        asked = {node["NodeID"]: task.options(num_cpus=0, max_retries=0, scheduling_strategy=(
            NodeAffinitySchedulingStrategy(node["NodeID"], soft=False))).remote(*arguments)
            for node in ray.nodes() if node["Alive"]}
        for id, reference in asked.items():
            try:
                yield id, ray.get(reference, timeout=ANSWER)
            except ray.exceptions.RayTaskError as error:  # an import that fails there
                raise EnlistError("version_mismatch", f"node {id[:12]} cannot run Enlist: {str(error)[-300:]}",
                                  fix=f"install enlist {versions()['enlist']} on every node") from error
            except (ray.exceptions.RayError, TimeoutError) as error:
                raise EnlistError("worker_died", f"node {id[:12]} does not answer", given=str(error)[-300:],
                                  fix="look at that node; take it out of the cluster, then go on") from error

    def many_nodes(self) -> bool:
        """Whether the cluster has nodes beside the driver's."""
        import ray

        return sum(node["Alive"] for node in ray.nodes()) > 1

    def _serve(self) -> None:
        import ray

        try:
            self._connect()
        except EnlistError as error:
            self._error = error
        except ConnectionError as error:
            self._error = EnlistError("not_found", "no Ray cluster answers at this address", given=self.address,
                                      fix="start one (see deploy/), or leave --address away for a local one",
                                      details=str(error))
        except Exception as error:  # Ray raises many kinds at start
            mismatch = "version" in str(error).lower()
            self._error = EnlistError("version_mismatch" if mismatch else "worker_died",
                                      f"cannot use Ray: {str(error)[:500]}", fix="see `enlist doctor`")
        self._done.set()
        self._watch()
        if not self.lost():
            ray.shutdown()

    def _watch(self) -> None:
        """Knock at the head until the connection is to be closed."""
        import ray

        head = ray.get_runtime_context().gcs_address if self.address and self._error is None else None
        answered = time.monotonic()
        while not self._close.wait(LOOK if head else None):
            if head and _answers(head):
                answered = time.monotonic()
            elif time.monotonic() - answered > LOST:
                self._lost.set()
                self._close.wait()
                return

    def _connect(self) -> None:
        import ray

        common: dict[str, Any] = {"namespace": "enlist", "log_to_driver": False, "logging_level": logging.ERROR,
                                  "configure_logging": False}
        logging.getLogger("ray").setLevel(logging.CRITICAL)  # this is no main thread, which Ray remarks upon
        if self.address:
            ray.init(address=self.address, **common)
            self._shake_hands()
        else:
            context = ray.init(address="local", include_dashboard=False, num_cpus=os.cpu_count(), **common)
            if self._reaper is not None and self._reaper.stdin is not None:
                session = context.address_info["session_dir"]  # type: ignore[attr-defined]  # of a local Ray's context
                self._reaper.stdin.write(f"{session}\n".encode())
                self._reaper.stdin.flush()

    def _shake_hands(self) -> None:
        ours = versions()
        for id, theirs in self._on_every_node(versions):
            if theirs != ours:
                raise EnlistError("version_mismatch", f"node {id[:12]} and this machine differ", given=str(theirs),
                                  allowed=str(ours), fix="install the same versions on every node")


def read_probe(locator: str, document: str) -> dict[str, Any] | None:
    """On a node: the fault that reading an artifact of the store meets, if any."""
    try:
        with boundary("reading an artifact"):
            memory = open_memory(locator)
            try:
                memory.open_artifact(ArtifactRef.model_validate_json(document))
            finally:
                memory.close()
    except EnlistError as error:
        return error.to_dict()
    return None


def check_artifacts(locator: str) -> None:
    """Refuse a store in Postgres whose artifacts have no place: nothing could be attached or reported."""
    if locator.startswith("postgres") and "artifacts=" not in locator:
        raise EnlistError("bad_input", "this store has no place for artifacts", allowed=FORMS, fix=NAME_ONE)


def lost_head(run: str) -> EnlistError:
    """The fault of a run whose cluster lost its head."""
    return EnlistError("worker_died", f"the head of the cluster has not answered for {LOST:.0f} s",
                       fix=f"start a cluster, then `enlist resume {run} --address HOST:PORT`; what is finished is kept")


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except OSError:
        return False
    return True
