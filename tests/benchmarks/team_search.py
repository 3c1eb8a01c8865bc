"""Team search at a million cards: against one scoring pass, against 1-opt in equal time, in memory, and from files.

    python tests/benchmarks/team_search.py [--agents N] [--seeds N] [--out FILE]

Scoring pass: the fits of all agents to 5 roles, `float32 [N, 24] @ [24, 5]` with scale and penalties, and the 64 best
of each role. Search (chain, at most 150 iterations) makes the same pass and everything after it. Both run in turn in
one process with one BLAS thread. 1-opt climbs over the full pool, one team at a time, with tables of fits whose making
is not counted. Memory is the peak of a fresh process over its own after the imports, pool included. Prints JSON.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  after the number of threads is set

from enlist.agents.pool import Pool  # noqa: E402
from enlist.agents.pool_files import read_pool, write_pool  # noqa: E402
from enlist.environments.teaming.peers import Meter, one_opt_full  # noqa: E402
from enlist.tools.smart import PoolColumns, TeamProblem, chain, search  # noqa: E402
from enlist.tools.smart.columns import ColumnFits  # noqa: E402

ROLES, FEATURES, STYLES, TOP = 5, 24, 8, 64
REPEATS, ITERATIONS = 11, 150


def make_problem(agents: int, seed: int) -> TeamProblem:
    """Random unit feature and style vectors, Beta(6, 3) accuracy, uniform cost and latency."""
    random = np.random.Generator(np.random.PCG64([6, seed]))

    def unit(rows: int, columns: int) -> np.ndarray:
        found = random.standard_normal((rows, columns), dtype=np.float32)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found

    fits = ColumnFits(unit(agents, FEATURES), unit(ROLES, FEATURES), 0.5 * random.beta(6, 3, agents).astype(np.float32),
                      0.05 * (random.random(agents, dtype=np.float32) + random.random(agents, dtype=np.float32)), 1.0)
    pool = PoolColumns(np.array([f"synthetic-{n:07d}" for n in range(agents)]), unit(agents, STYLES))
    return TeamProblem(pool, tuple(f"role-{n}" for n in range(ROLES)), chain(ROLES), fits)


def scoring_pass(fits: ColumnFits) -> list[np.ndarray]:
    """The 64 best of each role by a plain product over the columns, unsorted."""
    scores = fits.features @ fits.weights.T
    scores += np.float32(fits.bias)
    scores *= fits.scale[:, None]
    scores -= fits.penalty[:, None]
    return [np.argpartition(scores[:, role], len(scores) - TOP)[-TOP:] for role in range(ROLES)]


def against_the_pass(problem: TeamProblem) -> dict[str, Any]:
    fits = problem.unary
    assert isinstance(fits, ColumnFits)
    ratios, passes, searches = [], [], []
    for repeat in range(REPEATS + 1):
        started = time.perf_counter()
        scoring_pass(fits)
        between = time.perf_counter()
        search(replace(problem), seed=repeat, iterations=ITERATIONS)  # a copy: nothing is kept from the last search
        ended = time.perf_counter()
        if repeat:  # the first warms the caches
            passes.append(between - started)
            searches.append(ended - between)
            ratios.append(searches[-1] / passes[-1])
    return {"repeats": REPEATS, "pass_ms": round(1000 * float(np.median(passes)), 1),
            "search_ms": round(1000 * float(np.median(searches)), 1), "ratio": round(float(np.median(ratios)), 2),
            "largest_ratio": round(max(ratios), 2), "at_most": 6.0}


def against_one_opt(agents: int, seeds: int) -> dict[str, Any]:
    rows = []
    for seed in range(seeds):
        problem = make_problem(agents, seed)
        started = time.process_time()
        found = search(replace(problem), seed=seed, iterations=ITERATIONS)
        spent = time.process_time() - started
        team = one_opt_full(problem, seed, Timed(seconds=spent), batch=1)
        rows.append({"search": round(found.utility, 6), "one_opt": round(problem.utility(team), 6),
                     "iterations": found.iterations, "found_by": found.found_by})
    return {"seeds": seeds, "search_not_below": sum(r["search"] >= r["one_opt"] for r in rows), "rows": rows}


class Timed(Meter):
    """A meter whose clock starts when it is first asked, after the peer's tables are made."""

    @property
    def spent(self) -> bool:
        self.first = getattr(self, "first", time.process_time())
        return time.process_time() - self.first >= self.seconds


def memory_child(agents: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    search(make_problem(agents, 0), seed=0, iterations=ITERATIONS)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"over_import_mib": round((after - before) / 1024, 1), "at_most": 1024}))


def loading(agents: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    settings = [{"rounds": n, "precision": "fp8"} for n in range(8)]

    def pool_of(count: int) -> Pool:
        words = {name: random.choice([f"{name}-{n}" for n in range(12)], size=count)
                 for name in ("capability", "specialist", "route")}
        return Pool(ids=np.array([f"synthetic-{n:07d}" for n in range(count)]), duty=np.full(count, "analyst"),
                    model=np.full(count, ""), quality=random.random(count), quality_n=np.full(count, 4.0),
                    seconds=random.random(count), usd=random.random(count), synthetic=np.ones(count, dtype=bool),
                    knobs=tuple(settings[n] for n in random.integers(8, size=count)), declared={}, **words)

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("npz", "parquet"):
            path = Path(folder) / f"pool.{ending}"
            write_pool(pool_of(agents), path)
            started = time.perf_counter()
            assert len(read_pool(path)) == agents
            found[ending] = {"cards": agents, "seconds": round(time.perf_counter() - started, 2),
                             "file_mb": round(path.stat().st_size / 1e6, 1)}
        few = pool_of(10_000)
        path = Path(folder) / "pool.yaml"
        path.write_text(json.dumps([few.card(n).model_dump(mode="json") for n in range(len(few))], indent=1))
        started = time.perf_counter()
        assert len(read_pool(path)) == 10_000
        found["yaml"] = {"cards": 10_000, "seconds": round(time.perf_counter() - started, 2),
                         "file_mb": round(path.stat().st_size / 1e6, 1)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="only the memory of one search, in this process")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.memory:
        memory_child(given.agents)
        return
    child = subprocess.run([sys.executable, __file__, "--memory", "--agents", str(given.agents)], check=True,
                           capture_output=True, text=True)
    found = {"benchmark": "team_search", "agents": given.agents,
             "against_the_pass": against_the_pass(make_problem(given.agents, 0)),
             "against_1_opt_in_equal_cpu_time": against_one_opt(given.agents, given.seeds),
             "memory": json.loads(child.stdout), "loading": loading(given.agents)}
    text = json.dumps(found)
    if given.out:
        given.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
