"""Events per second of the SQLite store with 1, 8 and 50 writing processes, one synced commit each time, and batches.

    python tests/benchmarks/store_clients.py

Each client is a process of its own with an open store; all start at a barrier. Prints JSON.
"""

import json
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.owner import this_owner

CONTEXT = multiprocessing.get_context("spawn")
CASES = ((1, 400, 1), (8, 60, 1), (50, 20, 1), (50, 20, 20))  # clients, commits of each, events in a commit


def client(locator: str, number: int, commits: int, batch: int, barrier: Any, out: Any) -> None:
    memory = open_memory(locator)
    barrier.wait()
    began = time.perf_counter()
    for n in range(commits):
        memory.commit("run", 1, [NewEvent(kind="note", data={"by": number, "n": n, "i": i}) for i in range(batch)])
    out.put((began, time.perf_counter()))
    memory.close()


def measure(clients: int, commits: int, batch: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        memory = open_memory(f"sqlite://{Path(folder) / 'store.db'}")
        memory.take_lease("run", this_owner(), 3600)
        barrier, out = CONTEXT.Barrier(clients), CONTEXT.Queue()
        all_of = [CONTEXT.Process(target=client, args=(memory.locator(), n, commits, batch, barrier, out))
                  for n in range(clients)]
        for one in all_of:
            one.start()
        times = [out.get(timeout=600) for _ in all_of]
        for one in all_of:
            one.join()
        events = len(memory.events("run"))
        memory.close()
    if events != clients * commits * batch:
        raise SystemExit(f"{events} events of {clients * commits * batch}")
    took = max(end for _, end in times) - min(begin for begin, _ in times)
    return {"clients": clients, "commits": commits, "events_in_a_commit": batch,
            "events_per_second": round(events / took), "lost": 0}


if __name__ == "__main__":
    print(json.dumps({"benchmark": "store_clients", "cases": [measure(*case) for case in CASES]}))
