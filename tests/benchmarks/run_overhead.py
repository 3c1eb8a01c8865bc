"""What a run costs beyond its tools: per role, per journal event, on resume, and what more slots give.

Runs of the sample plug-in (tests/plugin), whose tools take milliseconds, over one local Ray. Prints ratios on standard
error and one JSON object on standard output; `--out FILE` writes that too. Postgres is measured where
`deploy/trial-postgres.sh` can start one.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RUNS = 15  # warm runs for the overhead per role
COMMITS = 300  # of one event each, per writer
LENGTHS = (100, 1_000, 10_000)  # events of a journal
SLOTS, TEXTS, SLEEP_S = (1, 2, 4), 4, 2.0  # a fan-out needs as many agents as texts: the plug-in has four
REQUESTS = {"letters": "count the letters in this text", "words": "count the words in this text"}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def plugged() -> Iterator[dict[str, str]]:
    """An environment in which the sample plug-in is installed, and a folder for the stores of the benchmark."""
    with tempfile.TemporaryDirectory(prefix="enl-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run(["cp", "-r", str(ROOT / "tests" / "plugin"), str(folder / "source")], check=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
                        "--no-index", "--disable-pip-version-check", "--target", str(folder / "installed"),
                        str(folder / "source")], check=True, capture_output=True)
        yield {**os.environ, "PYTHONPATH": str(folder / "installed"), "BENCH_FOLDER": name}


def measured(part: str, *words: str, environment: dict[str, str]) -> dict[str, Any]:
    """One part, measured in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--part", part, *words], env=environment, text=True,
                          stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().split("\n")[-1])
    return found


class Held:
    """A local Ray for many runs: each run is told that it is its own."""

    def __init__(self, folder: Path, cpus: int | None = None) -> None:
        from enlist.orchestrator import run
        from enlist.orchestrator.cluster import prepare_environment

        prepare_environment(folder / "home", "token")  # Ray reads it when it is imported
        import ray

        ray.init(address="local", include_dashboard=False, log_to_driver=False, num_cpus=cpus or os.cpu_count(),
                 namespace="enlist", logging_level="ERROR")
        run.Connection = lambda *arguments: self  # type: ignore[assignment,misc]

    def ready(self) -> None:
        pass

    def lost(self) -> bool:
        return False

    def guard(self, what: Callable[[], Any]) -> Any:
        return what()

    def close(self) -> None:
        pass


def config_of(folder: Path) -> Any:
    from enlist.tools.runtime.config import read

    return read({"home": str(folder / "home"), "out": str(folder / "out")})


def events_of(config: Any, run: str) -> list[Any]:
    from enlist.tools.runtime.memory import open_memory

    memory = open_memory(config.locator())
    try:
        return memory.events(run)
    finally:
        memory.close()


def overhead(folder: Path) -> dict[str, Any]:
    """Seconds per role beyond its tools, and the same tools called directly in this process."""
    from enlist.agents.calls import declared
    from enlist.orchestrator.run import run
    from enlist.tools.runtime import registry
    from enlist.tools.runtime.memory import open_memory
    from enlist.tools.runtime.runner import run_tool

    Held(folder)
    text, config = folder / "notes.txt", config_of(folder)
    text.write_text("one two three\n")
    beyond: dict[str, list[float]] = {"inline tool": [], "tool in a process": [], "no tool": []}
    walls, tools = [], []
    for _ in range(3 + RUNS):  # the first runs start Ray's workers
        begun = time.perf_counter()
        ended = run(config, REQUESTS["letters"], [text])
        walls.append(time.perf_counter() - begun)
        events = events_of(config, ended.run)
        times = {(e.kind, e.role): e.time for e in events}
        spent = {e.role: e.data["seconds"] for e in events if e.kind == "tool.finished"}
        tools.append(sum(spent.values()))
        for kind, role in zip(beyond, ("letter_count.analyst", "letter_count.verifier", "writer"), strict=True):
            wall = times["role.finished", role] - times["role.started", role]
            beyond[kind].append(wall - spent.get(role, 0.0))
    memory = open_memory(config.locator())
    ref = memory.put_file(text, media_type="text/plain", name="notes.txt")
    direct = {}
    for name, kind in (("sample-without-others", "inline tool"), ("sample-one-by-one", "tool in a process")):
        tool = declared(name)
        call = partial(run_tool, tool, registry.entries("enlist.tools")[name].value,
                       tool.parse({"text": ref.model_dump()}), memory)
        direct[kind] = statistics.median(timed(call) for _ in range(RUNS))
    memory.close()
    role_s = {kind: statistics.median(values[3:]) for kind, values in beyond.items()}
    whole = statistics.median(w - t for w, t in zip(walls[3:], tools[3:], strict=True))
    return {"beyond_tool_s_per_role": role_s, "direct_call_s": direct, "run_beyond_tools_s": whole,
            "ratio_role_to_direct": {k: (role_s[k] + direct[k]) / direct[k] for k in direct}}


def timed(what: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def write_events(locator: str, run: str) -> float:
    """Commit events one by one; the seconds it took."""
    from enlist.tools.runtime.events import NewEvent
    from enlist.tools.runtime.memory import open_memory

    memory = open_memory(locator)
    memory.commit(run, 0, [NewEvent(kind="note")])
    took = timed(lambda: [memory.commit(run, 0, [NewEvent(kind="note", data={"n": n})]) for n in range(COMMITS)])
    memory.close()
    return took


def rate(locator: str, writers: int) -> float:
    """Events per second that writing processes commit together, each its own run, one event a commit."""
    import ray

    task = ray.remote(write_events).options(num_cpus=0, max_retries=0)
    ray.get([task.remote(locator, f"warm{n}") for n in range(writers)])
    begun = time.perf_counter()
    ray.get([task.remote(locator, f"{time.time_ns()}-{n}") for n in range(writers)])
    return writers * (COMMITS + 1) / (time.perf_counter() - begun)


def journal(folder: Path) -> dict[str, Any]:
    """Events per second: straight to SQLite, through the actor, in batches, and to Postgres."""
    from enlist.tools.runtime.events import NewEvent
    from enlist.tools.runtime.memory.actor import serve
    from enlist.tools.runtime.memory.sqlite import SqliteMemory

    Held(folder)
    memory = SqliteMemory(folder / "events.db")
    found: dict[str, Any] = {}
    places = {"sqlite": memory.locator(), "actor": serve(memory)}
    if os.environ.get("BENCH_POSTGRES"):
        places["postgres"] = os.environ["BENCH_POSTGRES"]
    for name, locator in places.items():
        found[name] = {f"{writers} writers": rate(locator, writers) for writers in (1, 8)}
    batch = [NewEvent(kind="note", data={"n": n}) for n in range(100)]
    found["sqlite"]["1 writer, batches of 100"] = 100 * 20 / timed(
        lambda: [memory.commit("batches", 0, batch) for _ in range(20)])
    memory.close()
    return {"events_per_s": found}


def resuming(folder: Path) -> dict[str, Any]:
    """Seconds to fold a journal, and from `resume` to the first role, by its length."""
    from enlist.orchestrator.run import resume, run
    from enlist.orchestrator.state import RunState
    from enlist.tools.runtime.events import NewEvent
    from enlist.tools.runtime.memory import open_memory

    Held(folder)
    text, config = folder / "notes.txt", config_of(folder)
    text.write_text("one two three\n")
    first = run(config, REQUESTS["letters"], [text])
    memory = open_memory(config.locator())
    began = [e for e in memory.events(first.run) if e.kind in ("run.accepted", "run.planned")]
    found = {}
    for length in LENGTHS:
        id = f"r{length}"
        memory.commit(id, 0, [NewEvent(kind=e.kind, key=e.key, data=e.data) for e in began])
        said = {"key": "k", "tool": "sample-one-by-one", "version": "1", "step": "s", "share": 0.5,
                "text": "on its way"}
        memory.commit(id, 0, [NewEvent(kind="tool.progress", role="letter_count.analyst", data=said)
                              for _ in range(length - len(began))])
        fold = statistics.median(timed(lambda id=id: RunState.read(memory, id)) for _ in range(5))
        started: list[float] = []

        def watch(events: list[Any], started: list[float] = started) -> None:
            started += [time.perf_counter() for e in events if e.kind == "role.started"]

        begun = time.perf_counter()
        resume(config, id, watch=watch)
        found[str(length)] = {"fold_s": fold, "first_role_s": started[0] - begun}
    memory.close()
    return {"resume": found}


def fanned(folder: Path, slots: int) -> dict[str, Any]:
    """Wall seconds of a run over several texts whose tools sleep, with so many places for tools (half a CPU each)."""
    from enlist.orchestrator.run import run

    Held(folder, max(1, slots // 2))
    import ray

    if slots == 1:
        held = ray.remote(lambda: time.sleep(3600)).options(num_cpus=0.5).remote()
        time.sleep(3)
    texts = []
    for number in range(TEXTS):
        texts.append(folder / f"notes{number}.txt")
        texts[-1].write_text(f"text {number}\nsleep {SLEEP_S:g}\n")
    run(config_of(folder), REQUESTS["words"], texts)  # starts Ray's workers
    wall = timed(lambda: run(config_of(folder), REQUESTS["words"], texts))
    if slots == 1:
        ray.cancel(held, force=True)
    return {"wall_s": wall}


@contextmanager
def trial_postgres(folder: Path) -> Iterator[dict[str, str]]:
    """A PostgreSQL of this benchmark's own; nothing where none can be started."""
    log, place = folder / "postgres.log", folder / "pg"
    with log.open("wb") as file:
        process = subprocess.Popen(["bash", str(ROOT / "deploy" / "trial-postgres.sh"), str(place), "54329"],
                                   stdout=file, stderr=file)
    try:
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until and "ready to accept" not in log.read_text():
            time.sleep(0.2)
        if process.poll() is None and "ready to accept" in log.read_text():
            yield {"BENCH_POSTGRES": "postgresql://enlist@127.0.0.1:54329/postgres",
                   "PGPASSWORD": (place / "password").read_text()}
        else:
            yield {}
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a file for the JSON")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--slots", type=int, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    parts = {"overhead": overhead, "journal": journal, "resume": resuming}
    if given.part:
        with tempfile.TemporaryDirectory(dir=os.environ["BENCH_FOLDER"]) as name:
            Path(name).chmod(0o755)
            found = fanned(Path(name), given.slots) if given.part == "fan-out" else parts[given.part](Path(name))
        print(json.dumps(found))
        return
    whole: dict[str, Any] = {"benchmark": "run_overhead", "cpus": os.cpu_count()}
    with plugged() as environment, trial_postgres(Path(environment["BENCH_FOLDER"])) as postgres:
        for part in parts:
            whole |= measured(part, environment={**environment, **postgres})
            say(f"{part} done")
        walls = {n: measured("fan-out", "--slots", str(n), environment=environment)["wall_s"] for n in SLOTS}
    whole["fan_out_wall_s"] = walls
    whole["fan_out_speedup"] = {n: walls[1] / wall for n, wall in walls.items()}
    for kind, ratio in whole["ratio_role_to_direct"].items():
        say(f"a role with an {kind}: {ratio:.1f} times the tool called directly" if kind[0] == "i" else
            f"a role with a {kind}: {ratio:.2f} times the tool called directly")
    for slots, speedup in whole["fan_out_speedup"].items():
        say(f"{slots} slots: {speedup:.2f} times as fast as one")
    text = json.dumps(whole)
    if given.out:
        temporary = given.out.with_name(f".{given.out.name}-{os.getpid()}")
        temporary.write_text(text + "\n")
        temporary.replace(given.out)
    print(text)


if __name__ == "__main__":
    main()
