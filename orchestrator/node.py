"""This machine's part of a Ray cluster: start it in the foreground, check what it needs, stop it again.

`deploy/start-node.sh` and `deploy/stop-node.sh` are thin shells around this module. A node that is started gets an id,
which all of its processes carry in their environment and which is recorded below ENLIST_HOME together with the identity
of its first process. Stopping ends the processes that carry a recorded id and no others: `ray stop` would end every
Ray of the machine.
"""

import argparse
import contextlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from enlist.orchestrator import node_check
from enlist.orchestrator.cluster import TOKEN_FILE, check_address, private_token
from enlist.orchestrator.reaper import begun
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.sandbox.inside.tree import descendants

MARK = "ENLIST_NODE"  # the environment variable that a node's processes carry
FOLDER = "nodes"  # of the records, below ENLIST_HOME
PATIENCE_S = 20.0  # that a node's processes get to end by themselves


@dataclass(frozen=True)
class Record:
    """A node that was started here: its id, and its first process with when that began (clock ticks since boot)."""

    id: str
    pid: int
    begun: int
    role: str
    address: str


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    given = _parser().parse_args(arguments)
    home = Path(os.environ.get("ENLIST_HOME") or "~/.enlist").expanduser().absolute()
    try:
        if given.role == "stop":
            return stop(home, given.grace)
        node_check.check_options(given)
        token = _token_file(home, given)
        if given.role == "worker":
            check_address(given.address)
        if given.check:
            return node_check.report(given, token)
        node_check.refuse_weak_token(token)
        return start(home, given, token)
    except EnlistError as error:
        print(error.sentence(), file=sys.stderr)
        return error.exit_code


def start(home: Path, given: argparse.Namespace, token: Path) -> int:
    """Become the node: record it and let `ray start --block` take this process over."""
    id = secrets.token_hex(8)
    address = f":{given.port}" if given.role == "head" else given.address
    record = Record(id=id, pid=os.getpid(), begun=begun(os.getpid()) or 0, role=given.role, address=address)
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = folder / f".{id}"
    temporary.write_text(json.dumps(asdict(record)))
    os.replace(temporary, folder / f"{id}.json")
    os.environ.update({MARK: id, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)})
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = str(Path(sys.executable).parent / "ray")
    os.execv(ray, [ray, *ray_arguments(given)])
    raise AssertionError("exec does not return")


def _token_file(home: Path, given: argparse.Namespace) -> Path:
    """The file of the cluster's secret; a head without one makes it, a worker must have been given the head's."""
    named = given.token_file or os.environ.get("RAY_AUTH_TOKEN_PATH")
    if named:
        return Path(named).expanduser().absolute()
    return private_token(home) if given.role == "head" and not given.check else home / TOKEN_FILE


def ray_arguments(given: argparse.Namespace) -> list[str]:
    """What `ray` is called with."""
    words = ["start", "--block", "--disable-usage-stats"]
    words += ["--head", "--port", str(given.port), "--include-dashboard=false"] if given.role == "head" else [
        "--address", given.address]
    options = {"--node-ip-address": given.node_ip, "--num-cpus": given.cpus, "--num-gpus": given.gpus,
               "--resources": given.resources, "--labels": given.labels, "--temp-dir": given.temp_dir,
               "--metrics-export-port": given.metrics_port,
               "--object-store-memory": None if given.object_store_mib is None else given.object_store_mib << 20}
    ports = dict(zip(("--min-worker-port", "--max-worker-port"), given.worker_ports.split("-"), strict=True)
                 ) if given.worker_ports else {}
    for option, value in {**options, **ports}.items():
        if value is not None:
            words += [option, str(value)]
    return words


def stop(home: Path, patience: float = PATIENCE_S) -> int:
    """End the nodes that were started with this ENLIST_HOME, those that crashed as well."""
    records = [(path, Record(**json.loads(path.read_text()))) for path in sorted((home / FOLDER).glob("*.json"))]
    for path, record in records:
        known = processes(record.id)
        if begun(record.pid) == record.begun:
            os.kill(record.pid, signal.SIGTERM)  # `ray start --block` passes it on
        until = time.monotonic() + patience
        while _alive(known | processes(record.id)) and time.monotonic() < until:
            known |= processes(record.id)
            time.sleep(0.2)
        while left := _alive(known | processes(record.id)):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        path.unlink()
        print(f"stopped {record.role} {record.address}")
    if not records:
        print(f"no node was started with ENLIST_HOME={home}")
    return 0


def processes(id: str) -> dict[int, int]:
    """The processes of a node, with when each began: those that carry its id in their environment, and all below them
    (a worker of Ray overwrites its environment with the name of its task)."""
    wanted, found = f"{MARK}={id}".encode(), {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or another user's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                pid = int(folder.name)
                found.update({one: when for one in (pid, *descendants(pid)) if (when := begun(one)) is not None})
    return found


def _alive(known: dict[int, int]) -> list[int]:
    """Those that are still the same processes."""
    return [pid for pid, when in known.items() if begun(pid) == when]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="deploy/start-node.sh", description="Start this machine's part of a Ray "
                                     "cluster for Enlist, in the foreground, until it is interrupted.")
    roles = parser.add_subparsers(dest="role", required=True, metavar="head | worker")
    head, worker = roles.add_parser("head", help="the first node"), roles.add_parser("worker", help="each further node")
    head.add_argument("port", nargs="?", type=int, default=6379, help="of the cluster's address (6379)")
    worker.add_argument("address", help="HOST:PORT of the head")
    for one in (head, worker):
        one.add_argument("--check", action="store_true", help="say whether this machine can be such a node; start none")
        one.add_argument("--token-file", help="the cluster's secret (default: ray-token of ENLIST_HOME)")
        one.add_argument("--node-ip", help="this machine's address, as the other nodes reach it")
        one.add_argument("--cpus", type=int, help="processors to offer (default: all)")
        one.add_argument("--gpus", type=int, help="accelerators to offer (default: all)")
        one.add_argument("--resources", help='JSON of further resources, such as {"ram-disk": 1}')
        one.add_argument("--labels", help="labels of the node, such as zone=a,accelerator=h100")
        one.add_argument("--object-store-mib", type=int, help="size of Ray's object store (MiB)")
        one.add_argument("--temp-dir", help="folder of Ray's sessions and logs (default: Ray's own)")
        one.add_argument("--metrics-port", type=int, help="port of this node's Prometheus metrics")
        one.add_argument("--worker-ports", help="range of ports for workers, such as 20000-20999 (default: any)")
    ended = roles.add_parser("stop", help="end the nodes that were started with this ENLIST_HOME")
    ended.add_argument("--grace", type=float, default=PATIENCE_S, help="seconds they get to end by themselves")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
