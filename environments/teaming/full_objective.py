"""The full objective measured: `python -m enlist.environments.teaming.full_objective [seeds]` prints JSON.

Budget cap, parallel latency, coverage, team risk and convex load at once, over 14 cards and 5 roles; brute force over
all 240,240 teams of distinct cards is the truth. Normalised regret = (optimum - found) / (optimum - median of random
teams within the budget): a fraction of the optimum means nothing where utility can be negative. 1-opt climbs under
the same full objective and gets as many evaluations as the search used.
"""

import json
import sys
from typing import Any

import numpy as np

from enlist.environments.teaming.peers import Meter, counting
from enlist.tools.smart import TeamProblem, search
from enlist.tools.smart.exact import brute_force
from enlist.tools.smart.full_candidates import dense
from enlist.tools.smart.objective import Budget, Coverage, GlobalTerms, Latency, Load, Risk
from enlist.tools.smart.pools import MODELS, synthetic_problem
from enlist.tools.smart.topology import TOPOLOGIES

CARDS, SKILLS, SEEDS, DRAWN, BATCH = 14, 4, 20, 2001, 16
TIGHT = 0.35  # the cap lies this far from the cheapest team's cost to the dearest one's


def full_problem(model: str, shape: str, seed: int, cards: int = CARDS) -> TeamProblem:
    """A synthetic problem with all five global terms, on a scale at which each of them decides something."""
    plain = synthetic_problem(model, shape, agents=cards, seed=seed)
    random = np.random.Generator(np.random.PCG64([7, seed]))
    roles = len(plain.roles)
    cost = np.round(random.gamma(2.0, 0.02, size=cards), 4)
    ordered = np.sort(cost)
    low, high = float(np.sum(ordered[:roles])), float(np.sum(ordered[-roles:]))
    levels = np.where(random.random((cards, SKILLS)) < 0.4, random.random((cards, SKILLS)), 0.0)
    return TeamProblem(
        plain.pool, plain.roles, plain.edges, plain.unary, plain.beta, terms=GlobalTerms(
            budget=Budget(cost, round(low + TIGHT * (high - low), 4)),
            latency=Latency(random.gamma(2.0, 20.0, size=cards), 0.002, ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4))),
            coverage=Coverage(levels, np.full(SKILLS, 0.25)), risk=Risk(random.beta(2, 20, size=cards), 0.3),
            load=Load(random.integers(4, size=cards), 0.08)))


def measure_case(model: str, shape: str, seeds: int = SEEDS, cards: int = CARDS) -> dict[str, Any]:
    """Normalised regrets of the search and its peers over `seeds` pools."""
    regrets: dict[str, list[float]] = {"SMART": [], "1-opt, equal evaluations": [], "greedy": []}
    for seed in range(seeds):
        problem = full_problem(model, shape, seed, cards)
        best = brute_force(problem).utility
        held = dense(problem, [np.arange(cards, dtype=np.intp)] * len(problem.roles))
        drawn = held.utility(held.random_teams(DRAWN * 20, np.random.Generator(np.random.PCG64([8, seed]))))
        median = float(np.median(drawn[drawn > -np.inf][:DRAWN]))
        meter = Meter()
        with counting(meter):
            found = search(problem, seed=seed).utility
        spent, random, peer = Meter(most=meter.used), np.random.Generator(np.random.PCG64([9, seed])), -np.inf
        with counting(spent):
            while not spent.spent:
                peer = max(peer, float(np.max(held.climb(held.random_teams(BATCH, random))[1])))
        greedy = float(held.utility(held.greedy())[0])
        for name, value in zip(regrets, (found, peer, greedy), strict=True):
            regrets[name].append((best - value) / (best - median))
    return {"pool": model, "topology": shape, "cards": cards, "seeds": seeds,
            "regret": {name: _spread(values) for name, values in regrets.items()}}


def _spread(values: list[float]) -> dict[str, Any]:
    """Mean and worst over pools with a team within the budget; on how many none was found, and on how many the best."""
    found = [value for value in values if np.isfinite(value)]
    return {"mean": round(float(np.mean(found)), 5) if found else None,
            "worst": round(max(found), 5) if found else None,
            "no_team": len(values) - len(found), "optimal": sum(value == 0 for value in values)}


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    for pool in MODELS:
        for topology in TOPOLOGIES:
            print(json.dumps(measure_case(pool, topology, wanted)), flush=True)
