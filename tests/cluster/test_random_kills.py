"""Ten drivers and ten workers are killed at random moments; the runs end as if nothing had happened.

What a kill may cost is what was in hand: a tool that had begun is begun again, one that is finished is not.
"""

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
TEXTS = ("one two three\nsleep 0.5\n", "four five\nsleep 2\n")
MOST_PER_ROLE = 2  # a role is filled three times before another agent is taken
KILLS = 10


def below(driver: "subprocess.Popen[str]") -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(driver.pid).children(recursive=True)
    return []


def all_gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=15)
    return not [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


class Effects:
    """How often the tool was begun and ended since the last look."""

    def __init__(self, path: Path) -> None:
        self.path, self.seen = path, 0

    def since(self) -> tuple[int, int]:
        lines = self.path.read_text().split()[self.seen:]
        self.seen += len(lines)
        return lines.count("started"), lines.count("finished")


@pytest.fixture
def undisturbed(cluster, side_effects: Path) -> Iterator[tuple[dict[str, Any], float, Effects]]:
    """The document of a run that nobody disturbed, the seconds that it took, and the side effects after it."""
    effects, begun = Effects(side_effects), time.monotonic()
    code, whole = cluster.answer(cluster.ask(*TEXTS, address=False))
    assert (code, whole["status"], effects.since()) == (0, "done", (2, 2)), whole
    yield whole, time.monotonic() - begun, effects


def ended_once(cluster, run: str) -> bool:
    """Whether the journal has one end of every call and role, and every call its end."""
    cluster.ended.discard(run)
    events = [e for e in cluster.events() if e.run == run]
    cluster.ended.add(run)
    for kind in ("tool.finished", "role.finished"):
        ended = [e.key or e.role for e in events if e.kind == kind]
        if len(ended) != len(set(ended)):
            return False
    begun, done = ({e.data["key"] for e in events if e.kind == kind} for kind in ("tool.started", "tool.finished"))
    return begun == done


def test_ten_killed_drivers(cluster, undisturbed: tuple[dict[str, Any], float, Effects]) -> None:
    whole, seconds, effects = undisturbed
    rng, kills, in_run, runs = random.Random(20), 0, 0, 0
    run: str | None = None
    while kills < KILLS or run is not None:
        driver = cluster.drive("resume", run, address=False) if run else cluster.ask(*TEXTS, address=False)
        if kills < KILLS:
            with suppress(subprocess.TimeoutExpired):
                driver.wait(rng.uniform(0.2, seconds))
        if kills < KILLS and driver.poll() is None:
            left = below(driver)
            driver.kill()
            driver.communicate()
            assert all_gone(left), left
            kills += 1
            events = cluster.events()
            run = events[0].run if events else None  # None: killed before the run was accepted
            in_run += 1
            continue
        code, document = cluster.answer(driver)
        assert (code, document["status"]) == (0, "done") and document["content"] == whole["content"], document
        started, finished = effects.since()
        assert 2 <= finished <= started <= 2 * (in_run + 1)
        assert ended_once(cluster, document["run"])
        run, in_run, runs = None, 0, runs + 1
    print(f"{kills} drivers killed over {runs} runs")


def test_ten_killed_workers(cluster, undisturbed: tuple[dict[str, Any], float, Effects]) -> None:
    whole, seconds, effects = undisturbed
    rng, kills, runs = random.Random(21), 0, 0
    while kills < KILLS:
        driver, hit = cluster.ask(*TEXTS, address=False), dict[str, int]()
        moment = time.monotonic() + rng.uniform(0, seconds)
        while driver.poll() is None:
            if time.monotonic() > moment and kills < KILLS and sum(hit.values()) < MOST_PER_ROLE:
                workers = [(p, name) for p in below(driver) if (name := doing(p))]
                if workers:
                    victim, name = rng.choice(workers)
                    with suppress(psutil.NoSuchProcess):
                        victim.kill()
                        hit[name], kills = hit.get(name, 0) + 1, kills + 1
                    moment = time.monotonic() + rng.uniform(0, 3)
            time.sleep(0.02)
        code, document = cluster.answer(driver)
        assert (code, document["status"]) == (0, "done") and document["content"] == whole["content"], document
        assert not document["reenlisted"]
        started, finished = effects.since()
        assert 2 <= finished <= started <= 2 + sum(hit.values())
        assert ended_once(cluster, document["run"])
        runs += 1
    print(f"{kills} workers killed over {runs} runs")


def doing(process: psutil.Process) -> str:
    """The task that a worker of Ray runs now; "" for anything else."""
    with suppress(psutil.Error):
        words = process.cmdline()
        return words[0] if words and words[0].startswith(("ray::role", "ray::tool")) else ""
    return ""
