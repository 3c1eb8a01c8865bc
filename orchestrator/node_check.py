"""Whether this machine can be a node: what `start-node.sh --check` looks at before anything is started.

Each look gives a line: what was found, and what to do where it does not do. `must` lines decide the exit status; the
others are advice.
"""

import argparse
import json
import os
import re
import resource
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from enlist.orchestrator.cluster import versions
from enlist.tools.runtime import config
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory

LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?=([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
FILES_WANTED = 65_536  # open files that Ray's documentation asks for
DISK_WANTED = 5 << 30  # bytes for sessions, logs and spilled objects


@dataclass(frozen=True)
class Look:
    """One thing looked at."""

    name: str
    good: bool
    found: str
    fix: str = ""
    must: bool = True


def check_options(given: argparse.Namespace) -> None:
    """Refuse options that Ray would choke on: `bad_input` with the allowed form."""
    if given.labels and not all(LABEL.fullmatch(one) for one in given.labels.split(",")):
        raise EnlistError("bad_input", "these are no labels", given=given.labels, allowed="key=value,key=value",
                          fix="correct --labels")
    if given.worker_ports and not re.fullmatch(r"\d{1,5}-\d{1,5}", given.worker_ports):
        raise EnlistError("bad_input", "this is no range of ports", given=given.worker_ports, allowed="FIRST-LAST",
                          fix="correct --worker-ports")
    try:
        resources = json.loads(given.resources or "{}")
        right = isinstance(resources, dict) and all(
            isinstance(amount, int | float) and not isinstance(amount, bool) for amount in resources.values())
    except ValueError:
        right = False
    if not right:
        raise EnlistError("bad_input", "these are no resources", given=given.resources, allowed='{"name": amount}',
                          fix="correct --resources")
    if given.metrics_port and not find_spec("prometheus_client"):
        raise EnlistError("not_installed", "Ray's metrics need its agent", given="--metrics-port",
                          fix="pip install 'enlist[serve]' on this machine, or leave the option away")


def refuse_weak_token(token: Path) -> None:
    """`not_found` where there is no secret, `bad_input` where others can read it or it is empty."""
    look = _token(token)
    if not look.good:
        raise EnlistError("bad_input" if token.is_file() else "not_found", "the cluster's secret cannot be used",
                          given=look.found, fix=look.fix)


def report(given: argparse.Namespace, token: Path) -> int:
    """Print every look; 0 where all that must hold does, else 1."""
    looks = list(_looks(given, token))
    for look in looks:
        print(f"{'ok  ' if look.good else 'FAIL' if look.must else 'note'} {look.name}: {look.found}"
              + ("" if look.good or not look.fix else f"; to fix: {look.fix}"))
    return int(any(look.must and not look.good for look in looks))


def _looks(given: argparse.Namespace, token: Path) -> Iterator[Look]:
    yield Look("versions", True, ", ".join(f"{name} {found}" for name, found in versions().items()))
    yield _token(token)
    if given.role == "head":
        yield _port(given.port)
    if given.metrics_port:
        yield _port(given.metrics_port)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    yield Look("open files", files in (-1, resource.RLIM_INFINITY) or files >= FILES_WANTED, str(files),
               f"raise the hard limit to {FILES_WANTED} (ulimit -Hn)", must=False)
    free = shutil.disk_usage("/dev/shm").free
    asked = (given.object_store_mib or 0) << 20
    yield Look("shared memory", free >= asked, f"{free >> 20} MiB free in /dev/shm",
               "give the machine or container more shared memory, or ask for less with --object-store-mib")
    folder = Path(given.temp_dir or tempfile.gettempdir())
    while not folder.exists():
        folder = folder.parent
    yield Look("temporary folder", os.access(folder, os.W_OK), str(folder), "name another with --temp-dir")
    space = shutil.disk_usage(folder).free
    yield Look("disk", space >= DISK_WANTED, f"{space >> 20} MiB free in {folder}",
               f"free {DISK_WANTED >> 30} GiB for logs and spilled objects", must=False)
    if os.environ.get("ENLIST_MEMORY"):
        yield _store()


def _token(token: Path) -> Look:
    copy = "copy ray-token of the head's ENLIST_HOME here, or name it with --token-file"
    if not token.is_file():
        return Look("secret", False, f"{token} is not there", copy)
    if token.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Look("secret", False, f"{token} can be read by others", f"chmod 600 {token}")
    if not token.read_text().strip():
        return Look("secret", False, f"{token} is empty", copy)
    return Look("secret", True, str(token))


def _port(port: int) -> Look:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except (OSError, OverflowError) as error:
            return Look(f"port {port}", False, str(error), "choose another one")
    return Look(f"port {port}", True, "free")


def _store() -> Look:
    """Whether the store and its artifacts answer from here, as they must from every node."""
    try:
        memory = open_memory(config.read().locator())
        try:
            memory.open_artifact(memory.put_bytes(b"a node's check", media_type="text/plain", name="check"))
        finally:
            memory.close()
    except EnlistError as error:
        return Look("store", False, error.message, error.fix or "")
    return Look("store", True, "it answers, and keeps artifacts")
