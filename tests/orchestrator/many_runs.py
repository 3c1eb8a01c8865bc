"""Many runs in one process over one cluster, with what each leaves behind; started by `test_leaks.py`.

Reads {"folder", "address", "kept", "joined"} on standard input: `kept` runs over one connection, then `joined` runs
that connect and part by themselves. Prints a JSON list, one object a run: process count, memory and open files of this
process and of the cluster's, files under TMPDIR, and the bytes in Ray's object store.
"""

import gc
import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from enlist.orchestrator import run
from enlist.orchestrator.cluster import Connection
from enlist.tools.runtime.config import read


class Borrowed:
    """The connection of the whole script, as each run sees it."""

    held: Connection

    def __init__(self, *arguments: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self.held, name)

    def close(self) -> None:
        pass


def cluster_processes(pids: list[int]) -> list[psutil.Process]:
    """The processes of the cluster, and all that they have begun."""
    found: dict[int, psutil.Process] = {}
    for pid in pids:
        with suppress(psutil.Error):
            one = psutil.Process(pid)
            found |= {p.pid: p for p in (one, *one.children(recursive=True))}
    return [p for p in found.values() if p.status() != psutil.STATUS_ZOMBIE]


def sample(pids: list[int]) -> dict[str, float]:
    import ray

    gc.collect()
    me = psutil.Process()
    there = cluster_processes(pids)
    total = {"cluster_rss": 0.0, "cluster_files": 0.0, "servers_rss": 0.0}
    for process in there:
        with suppress(psutil.Error):
            memory = process.memory_info()
            total["cluster_rss"] += memory.rss
            total["cluster_files"] += process.num_fds()
            if "ray::" not in " ".join(process.cmdline()):
                total["servers_rss"] += memory.rss - memory.shared
    objects = 0.0
    if ray.is_initialized():
        objects = (ray.cluster_resources().get("object_store_memory", 0.0)
                   - ray.available_resources().get("object_store_memory", 0.0))
    memory = me.memory_info()
    return {"rss": memory.rss - memory.shared, "files": me.num_fds(), "threads": threading.active_count(),
            "children": len(me.children(recursive=True)), "cluster_processes": len(there), **total, "objects": objects,
            "temporary": sum(1 for _ in Path(os.environ["TMPDIR"]).rglob("*"))}


def main() -> None:
    job = json.loads(sys.stdin.read())
    folder = Path(job["folder"])
    text = folder / "notes.txt"
    text.write_text("one two three\n")
    config = read({"home": str(folder / "home"), "out": str(folder / "out"), "address": job["address"]})
    real, told = run.Connection, []

    def once() -> None:
        ended = run.run(config, "count the words in this text", [text])
        assert ended.status == "done", ended.document()
        told.append(sample(job["pids"]))

    Borrowed.held = Connection(Path(config["home"]), job["address"], "token")
    Borrowed.held.ready()
    run.Connection = Borrowed  # type: ignore[assignment,misc]
    for _ in range(job["kept"]):
        once()
    Borrowed.held.close()
    run.Connection = real  # type: ignore[misc]
    for _ in range(job["joined"]):
        once()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
