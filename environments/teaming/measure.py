"""The figures of docs/teaming.md: `python -m enlist.environments.teaming.measure [seeds]` prints them as JSON.

For each pool model and topology: utility over the exact optimum of the search and its peers, how often each reached it,
who found the search's team, and seconds. Seconds depend on the machine; the rest does not.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from enlist.tools.smart import TeamProblem, search
from enlist.tools.smart.baselines import greedy, random_teams, restarted_one_opt
from enlist.tools.smart.exact import exact
from enlist.tools.smart.pools import MODELS, synthetic_problem
from enlist.tools.smart.topology import TOPOLOGIES

SEEDS = 20
PEERS: dict[str, Callable[[TeamProblem, int], tuple[int, ...]]] = {
    "random": lambda problem, seed: random_teams(problem, 1, seed)[0],
    "greedy": lambda problem, seed: greedy(problem),
    "1-opt x 5": lambda problem, seed: restarted_one_opt(problem, seed, 5),
    "1-opt x 30": lambda problem, seed: restarted_one_opt(problem, seed, 30),
    "1-opt x 100": lambda problem, seed: restarted_one_opt(problem, seed, 100),
}


def measure(model: str, shape: str, seeds: int, agents: int = 300) -> dict[str, Any]:
    """One row of the table over `seeds` pools."""
    ratios: dict[str, list[float]] = {name: [] for name in ("smart", *PEERS)}
    seconds: dict[str, list[float]] = {name: [] for name in ("exact", "smart", *PEERS)}
    found_by, iterations, gaps, exhausted = Counter[str](), [], [], 0
    for seed in range(seeds):
        problem = synthetic_problem(model, shape, agents=agents, seed=seed)
        started = time.perf_counter()
        best = exact(problem).utility
        seconds["exact"].append(time.perf_counter() - started)
        started = time.perf_counter()
        result = search(problem, seed=seed)
        seconds["smart"].append(time.perf_counter() - started)
        ratios["smart"].append(result.utility / best)
        found_by[result.found_by] += 1
        iterations.append(result.iterations)
        gaps.append(result.gap)
        exhausted += result.exhausted
        for name, peer in PEERS.items():
            started = time.perf_counter()
            team = peer(problem, seed)
            seconds[name].append(time.perf_counter() - started)
            ratios[name].append(problem.utility(team) / best)
    return {
        "pool": model, "topology": shape, "agents": agents, "seeds": seeds,
        "ratio": {name: {"mean": round(float(np.mean(values)), 4), "worst": round(min(values), 4),
                         "optimal": sum(value == 1 for value in values)} for name, values in ratios.items()},
        "found_by": dict(found_by.most_common()), "exhausted": exhausted,
        "iterations": {"median": float(np.median(iterations)), "most": max(iterations)},
        "gap": {"mean": round(float(np.mean(gaps)), 4), "most": round(max(gaps), 4)},
        "median_seconds": {name: round(float(np.median(values)), 3) for name, values in seconds.items()},
    }


def main(arguments: list[str]) -> None:
    """Print one JSON line for each pool model and topology."""
    seeds = int(arguments[0]) if arguments else SEEDS
    for model in MODELS:
        for shape in TOPOLOGIES:
            print(json.dumps(measure(model, shape, seeds)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
