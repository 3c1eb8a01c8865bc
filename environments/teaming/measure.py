"""The figures of docs/teaming.md: `python -m enlist.environments.teaming.measure [--agents N] [--seeds N]` prints JSON.

One line for each pool model and topology. The yardstick is the exact optimum where it can be proved (up to 1,000
cards), else the best known team: the best of the search, of 1-opt with twenty times the search's work, and of a search
over a four times wider shortlist. Paired rows compare the search with both forms of restarted 1-opt on the same pools
and seeds, once given the search's number of objective evaluations and once its CPU time. CPU times depend on the
machine, and with them what 1-opt reaches in equal time; the rest does not.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from enlist.environments.teaming.peers import ONE_OPT, PARTS, Meter, Team, counting, shortlist_evaluations
from enlist.tools.smart import TeamProblem, search
from enlist.tools.smart.baselines import greedy, random_teams
from enlist.tools.smart.exact import LARGEST, exact
from enlist.tools.smart.pools import MODELS, synthetic_problem
from enlist.tools.smart.result import SearchResult
from enlist.tools.smart.shortlist import shortlist
from enlist.tools.smart.topology import TOPOLOGIES

SEEDS = 20
LONG = 20  # the long 1-opt's work in units of the search's
WIDE, WIDE_ITERATIONS = 384, 1000
EARLY = ("greedy", "warm-start climb")  # found before the first iteration of the tree
RESAMPLES = 10_000


def measure(model: str, shape: str, seeds: int, agents: int = 300) -> dict[str, Any]:
    """One row of the tables over `seeds` pools of `agents` cards."""
    ratios: dict[str, list[float]] = {}
    found_by, cpu, evaluations, ceilings, proved, closed = Counter[str](), [], [], [], 0, 0
    pairs: dict[str, list[float]] = {}
    for seed in range(seeds):
        problem = synthetic_problem(model, shape, agents=agents, seed=seed)
        meter, started = Meter(), time.process_time()
        with counting(meter):
            result = search(problem, seed=seed)
        spent = time.process_time() - started
        listed = shortlist(problem, np.random.Generator(np.random.PCG64(seed)))
        work = meter.used + shortlist_evaluations(problem, [len(rows) for rows in listed.prefiltered])
        teams = _peers(problem, seed)
        for name, peer in ONE_OPT.items():
            teams[f"{name}, equal evaluations"] = _run(peer, problem, seed, Meter(most=work))
            teams[f"{name}, equal CPU time"] = _run(peer, problem, seed, Meter(seconds=spent))
        values = {"SMART": result.utility, **{name: problem.utility(team) for name, team in teams.items()}}
        best = _best_known(problem, seed, work, values.values())
        proved += len(problem.pool) <= LARGEST
        for name, value in values.items():
            ratios.setdefault(name, []).append(value / best)
        for name in (n for n in values if n.endswith(("evaluations", "time"))):
            pairs.setdefault(name, []).append((result.utility - values[name]) / best)
        ceilings.append(_ceiling(problem, [rows.tolist() for rows in listed.rows]) / best)
        found_by[result.found_by] += 1
        closed += result.exhausted
        cpu.append(spent)
        evaluations.append(work)
    early = sum(found_by[name] for name in EARLY)
    return {
        "pool": model, "topology": shape, "agents": agents, "seeds": seeds, "optima_proved": proved,
        "ratio": {name: _spread(values) for name, values in ratios.items()},
        "shortlist_ceiling": _spread(ceilings), "paired": {name: _paired(values) for name, values in pairs.items()},
        "found_by": dict(found_by.most_common()), "found_before_the_tree": early / seeds, "tree_closed": closed,
        "median_cpu_seconds": round(float(np.median(cpu)), 3), "median_evaluations": float(np.median(evaluations))}


def _peers(problem: TeamProblem, seed: int) -> dict[str, Team]:
    teams = {"random": random_teams(problem, 1, seed)[0], "greedy": greedy(problem)}
    return {**teams, **{name: peer(problem, seed, Meter()) for name, peer in PARTS.items()}}


def _run(peer: Any, problem: TeamProblem, seed: int, meter: Meter) -> Team:
    with counting(meter):
        return peer(problem, seed, meter)


def _best_known(problem: TeamProblem, seed: int, work: float, values: Any) -> float:
    """The proved optimum of a small pool; of a large one, the best of what long and wide runs find."""
    if len(problem.pool) <= LARGEST:
        return exact(problem).utility
    long = ONE_OPT["1-opt, full pool"](problem, seed + 1, Meter(most=LONG * work))
    wide: SearchResult = search(problem, seed=seed + 1, width=WIDE, iterations=WIDE_ITERATIONS)
    return max(problem.utility(long), wide.utility, *values)


def _ceiling(problem: TeamProblem, listed: Sequence[Sequence[int]]) -> float:
    """The utility of the best team of shortlisted agents: what no search over this shortlist can pass."""
    rows = sorted({row for role in listed for row in role})
    place = {row: number for number, row in enumerate(rows)}
    fits = np.full((len(listed), len(rows)), -np.inf)
    for role, members in enumerate(listed):
        fits[role, [place[row] for row in members]] = problem.fits(role, np.array(members, dtype=np.intp))
    pool = problem.pool
    small = type(pool)([pool.ids[row] for row in rows], None if pool.vectors is None else pool.vectors[rows],
                       None if pool.routes is None else pool.routes[rows])
    return exact(TeamProblem(small, problem.roles, problem.edges, fits, problem.beta, differ=problem.differ)).utility


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"mean": round(float(np.mean(values)), 5), "worst": round(float(np.min(values)), 5),
            "best_known": sum(value == 1 for value in values)}


def _paired(differences: Sequence[float]) -> dict[str, float]:
    """Mean of SMART minus the peer in parts of the best known, its 95 % bootstrap interval over pools, the largest
    loss, and the share of pools on which SMART is not below."""
    found = np.array(differences)
    drawn = np.random.Generator(np.random.PCG64(0)).integers(len(found), size=(RESAMPLES, len(found)))
    low, high = np.quantile(np.mean(found[drawn], axis=1), [0.025, 0.975])
    return {"mean": round(float(np.mean(found)), 6), "low": round(float(low), 6), "high": round(float(high), 6),
            "largest_loss": round(float(max(0.0, -np.min(found))), 6), "not_below": float(np.mean(found >= 0))}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one JSON line for each pool model and topology."""
    parser = argparse.ArgumentParser(prog="python -m enlist.environments.teaming.measure",
                                     description="Measure team search against its peers.")
    parser.add_argument("--agents", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args(arguments)
    for model in MODELS:
        for shape in TOPOLOGIES:
            print(json.dumps(measure(model, shape, given.seeds, given.agents)), flush=True)


if __name__ == "__main__":
    main()
