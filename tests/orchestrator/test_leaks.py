"""200 runs in a row leave nothing behind: processes, open files, temporary files, Ray objects and memory stay flat.

170 runs share one connection in one process, 25 connect to the same cluster and part from it, and five are whole
commands. The first runs of each kind warm caches up; what is compared is the growth after that.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from enlist.orchestrator.node import processes

ROOT = Path(__file__).parents[2]
KEPT, JOINED, COMMANDS = 170, 25, 5
WARM = {"kept": 50, "joined": 10}  # runs that fill pools and caches: Ray's workers, allocators, SQLite's pages
FLAT = {"files": 2, "threads": 2, "children": 0, "cluster_processes": 2, "objects": 0, "temporary": 2}  # most growth
MOST_BYTES = {"rss": 100e3, "servers_rss": 150e3}  # memory of its own that a run may add, by the median slope
Samples = list[dict[str, float]]


def until(happened: Callable[[], Any]) -> Any:
    end = time.monotonic() + 120
    while not (found := happened()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def place(sample_plugin: dict[str, str]) -> Iterator[tuple[Path, dict[str, str], str, list[int]]]:
    """A folder, an environment, and a cluster of one node: its address and its processes."""
    with tempfile.TemporaryDirectory(prefix="enl-") as name, socket.socket() as probe:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "tmp").mkdir(mode=0o755)
        probe.bind(("", 0))
        port = probe.getsockname()[1]
        probe.close()
        kept = {k: v for k, v in sample_plugin.items() if not k.startswith(("RAY_", "ENLIST_"))}
        environment = {**kept, "ENLIST_HOME": str(folder / "home"), "ENLIST_PYTHON": sys.executable,
                       "TMPDIR": str(folder / "tmp"), "ENLIST_OUT": str(folder / "out")}
        command = ["bash", str(ROOT / "deploy" / "start-node.sh"), "head", str(port), "--temp-dir", str(folder / "ray"),
                   "--object-store-mib", "128"]
        with (folder / "log").open("wb") as log:
            head = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            (record,) = until(lambda: list((folder / "home" / "nodes").glob("*.json")))
            until(lambda: _listens(port))
            until(lambda: any("raylet/raylet" in " ".join(psutil.Process(p).cmdline()) for p in processes(record.stem)))
            time.sleep(2)
            yield folder, environment, f"127.0.0.1:{port}", sorted(processes(record.stem))
        finally:
            subprocess.run(["bash", str(ROOT / "deploy" / "stop-node.sh")], env=environment, check=False,
                           stdout=subprocess.DEVNULL)
            head.wait(timeout=60)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def slope(samples: Samples, name: str) -> float:
    """Growth per run: the median of the slopes of all pairs (Theil and Sen), which single jumps do not move."""
    values = [sample[name] for sample in samples]
    return statistics.median((b - a) / (j - i) for i, a in enumerate(values) for j, b in enumerate(values) if j > i)


def growth(samples: Samples, name: str) -> float:
    """The median of the last quarter over that of the first."""
    quarter = max(1, len(samples) // 4)
    return statistics.median(s[name] for s in samples[-quarter:]) - statistics.median(
        s[name] for s in samples[:quarter])


@pytest.mark.slow
def test_two_hundred_runs_leave_processes_files_and_memory_flat(place: tuple[Any, ...]) -> None:
    folder, environment, address, pids = place
    job = {"folder": str(folder), "address": address, "pids": pids, "kept": KEPT, "joined": JOINED}
    done = subprocess.run([sys.executable, str(Path(__file__).parent / "many_runs.py")], input=json.dumps(job),
                          env=environment, cwd=folder, text=True, capture_output=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    samples: Samples = json.loads(done.stdout)
    assert len(samples) == KEPT + JOINED
    for kind, mine in (("kept", samples[:KEPT]), ("joined", samples[KEPT:])):
        after = mine[WARM[kind]:]
        told = {name: (round(growth(after, name)), round(slope(after, name))) for name in after[0]}
        print(kind, json.dumps(told))
        assert {name: told[name][0] for name, most in FLAT.items() if told[name][0] > most} == {}, (kind, told)
        most_bytes = MOST_BYTES if kind == "kept" else {}  # each join is a job of its own for the cluster's servers
        assert {n: told[n][1] for n, most in most_bytes.items() if told[n][1] > most} == {}, (kind, told)


@pytest.mark.slow
def test_whole_commands_leave_no_process_and_no_file(place: tuple[Any, ...]) -> None:
    folder, environment, _, _ = place
    (folder / "notes.txt").write_text("one two three\n")
    before = {p.pid for p in psutil.process_iter()}
    temporary = sorted(os.listdir(folder / "tmp"))
    for _ in range(COMMANDS):
        done = subprocess.run([str(Path(sys.executable).parent / "enlist"), "run", "count the words in this text",
                               "--attach", "notes.txt", "--json"], env=environment, cwd=folder, text=True,
                              capture_output=True, timeout=300)
        assert json.loads(done.stdout)["status"] == "done"
    mine = [p for p in psutil.process_iter() if p.pid not in before and _home_of(p) == environment["ENLIST_HOME"]]
    _, alive = psutil.wait_procs(mine, timeout=20)
    assert not alive
    assert [name for name in sorted(os.listdir(folder / "tmp")) if name not in temporary and name != "ray"] == []
    assert not list((folder / "tmp" / "ray").glob("session_2*"))


def _home_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("ENLIST_HOME")
    except psutil.Error:
        return None
