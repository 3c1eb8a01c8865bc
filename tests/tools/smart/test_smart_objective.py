"""The full objective against its formulas in plain Python, over every team of small pools.

The formulas below were written from docs/teaming.md ("The full objective") by another hand than the search's.
"""

from dataclasses import replace
from itertools import product
from math import inf, prod, sqrt

import numpy as np
import pytest

from enlist.environments.teaming.full_objective import full_problem, measure_case
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem, search
from enlist.tools.smart.bounds import tighten
from enlist.tools.smart.exact import brute_force, exact
from enlist.tools.smart.full_bounds import ceiling, completion_of, relax
from enlist.tools.smart.full_candidates import dense
from enlist.tools.smart.objective import Budget, Coverage, GlobalTerms, Latency, Load, Risk

PATHS = ((0, 1, 3, 4), (0, 2, 3, 4))  # of the DAG in `full_problem`


def by_formula(problem, team):
    """U of a team by the formulas of the page, in plain floats."""
    if len(set(team)) < len(team):
        return -inf
    terms, roles = problem.terms, range(len(team))
    vectors = problem.pool.vectors.astype(float)
    total = sum(float(problem.unary[r][team[r]]) for r in roles)
    total += problem.beta * sum(float(vectors[team[r]] @ vectors[team[s]]) for r, s in problem.edges)
    if sum(round(float(terms.budget.cost[a]) * 1e9) for a in team) > round(terms.budget.cap * 1e9):
        return -inf
    total -= max(sum(terms.latency.weight * terms.latency.seconds[team[r]] for r in path) for path in PATHS)
    total += sum(w * (1 - prod(1 - terms.coverage.levels[a][k] for a in team))
                 for k, w in enumerate(terms.coverage.weights))
    total -= terms.risk.kappa * sqrt(sum(terms.risk.variance[a] for a in team))
    counts = [sum(terms.load.backend[a] == b for a in team) for b in set(terms.load.backend.tolist()) if b >= 0]
    return total - sum(terms.load.weight * max(0, n - terms.load.free) ** 2 for n in counts)


@pytest.mark.parametrize("model", ["skill-vectors", "realistic-cards"])
@pytest.mark.parametrize("shape", ["chain", "complete"])
def test_utility_search_exact_and_brute_force_agree_with_the_formulas_over_all_teams(model, shape):
    for seed in range(2):
        problem = full_problem(model, shape, seed, cards=7)
        values = {team: by_formula(problem, team) for team in product(range(7), repeat=5)}
        sample = list(values)[:: 997]
        for team in sample:
            assert problem.utility(team) == pytest.approx(values[team], abs=2e-6) or values[team] == -inf
            assert (problem.utility(team) == -inf) == (values[team] == -inf)
        best = max(values.values())
        if best == -inf:  # the eligible cards cost more than the cap
            for method in (search, exact, brute_force):
                with pytest.raises(EnlistError, match="no team"):
                    method(problem)
            continue
        found = search(problem, seed=seed)
        for utility in (found.utility, exact(problem).utility, brute_force(problem).utility):
            assert utility == pytest.approx(best, abs=2e-6)
        assert found.utility <= found.upper_bound.value
        parts = sum(found.global_terms.values()) + sum(m.unary + m.synergy for m in found.team)
        assert parts == pytest.approx(found.utility, abs=1e-9)


def test_no_completion_passes_its_bound_and_no_team_the_ceiling():
    for seed in range(3):
        problem = full_problem("realistic-cards", "complete", seed, cards=7)
        held = dense(problem, [np.arange(7, dtype=np.intp)] * 5)
        relaxed = relax(held)
        tight = tighten(relaxed.additive, 10)
        bounds = completion_of(held, relaxed, tight, (0, 1, 2, 3, 4))
        sizes = held.sizes
        teams = np.array(list(product(*(range(n) for n in sizes))), dtype=np.intp)
        utilities = held.utility(teams)
        most = ceiling(problem)
        for team, utility in zip(teams.tolist(), utilities, strict=True):
            if utility > -inf:
                assert utility <= tight.bound and problem.terms.value(tuple(int(held.rows[r, a]) for r, a in
                                                                            enumerate(team))) <= most
        random = np.random.default_rng(seed)
        for depth in range(5):
            for _ in range(8):
                prefix = tuple(int(random.integers(n)) for n in sizes[:depth])
                here = np.all(teams[:, :depth] == prefix, axis=1)
                children = bounds.children(prefix)
                for child in range(sizes[depth]):
                    values = utilities[here & (teams[:, depth] == child)]
                    assert children[child] >= np.max(values)
                    if depth >= 3 and np.max(values) > -inf:  # with at most one role open after it, the bound is exact
                        assert children[child] == np.max(values)


def test_each_term_alone_changes_the_team_as_it_should():
    ids = PoolColumns(["a", "b", "c", "d"])
    fits = np.array([[0.9, 0.8, 0.5, 0.4], [0.9, 0.8, 0.5, 0.4]])
    plain = TeamProblem(ids, ("one", "two"), (), fits)
    seconds, levels = np.array([100.0, 100, 1, 1]), np.array([[1.0, 0], [1, 0], [0, 1], [0, 0]])

    def team(**terms):
        return set(search(replace(plain, terms=GlobalTerms(**terms))).ids)

    assert set(search(plain).ids) == {"a", "b"}
    assert team(budget=Budget(np.array([5.0, 4, 1, 1]), 6.0)) == {"a", "c"}  # 5 + 1 fits, 5 + 4 does not
    assert team(latency=Latency(seconds, 0.01, ())) == {"c", "d"}  # the slower of the two costs 1.0
    assert team(coverage=Coverage(levels, np.array([0.5, 0.5]))) == {"a", "c"}
    assert team(risk=Risk(np.array([0.0, 0.9, 0.0, 0.0]), 1.0)) == {"a", "c"}
    assert team(load=Load(np.array([1, 1, 2, 3]), 0.5)) == {"a", "c"}


def test_a_budget_below_the_cheapest_team_is_refused_with_what_that_team_costs():
    problem = full_problem("skill-vectors", "chain", 0)
    cost = np.sort(problem.terms.budget.cost)
    least = float(np.sum(cost[:5]))
    with pytest.raises(EnlistError) as fault:
        search(replace(problem, terms=GlobalTerms(budget=Budget(problem.terms.budget.cost, least - 0.001))))
    assert fault.value.code == "not_found" and f"{least:.4g}" in fault.value.to_dict()["allowed"]
    exactly = replace(problem, terms=GlobalTerms(budget=Budget(problem.terms.budget.cost, least)))
    assert sum(problem.terms.budget.cost[list(search(exactly).rows)]) == pytest.approx(least)


def test_a_cap_that_binds_in_a_large_pool_is_met_with_little_loss():
    random = np.random.default_rng(0)
    fits, cost = random.random((5, 3000)), random.gamma(2.0, 1.0, size=3000)
    plain = TeamProblem(PoolColumns(np.array([f"c{n:04d}" for n in range(3000)])), tuple("vwxyz"), (), fits)
    problem = replace(plain, terms=GlobalTerms(budget=Budget(cost, 0.5)))
    found = search(problem, seed=0)
    assert sum(cost[list(found.rows)]) <= 0.5 + 1e-9
    # The Lagrangian bound: no team within the cap passes min over prices of sum of max(fit - price cost) + price cap.
    bound = min(float(np.sum(np.max(fits - price * cost, axis=1)) + price * 0.5) for price in np.linspace(0, 20, 2001))
    assert 0.99 * bound <= found.utility <= bound + 1e-9


def test_the_result_does_not_depend_on_the_order_of_the_rows():
    problem = full_problem("realistic-cards", "complete", 4)
    order = np.random.default_rng(0).permutation(14)
    terms, pool = problem.terms, problem.pool
    moved = replace(
        problem, pool=PoolColumns([pool.ids[row] for row in order], pool.vectors[order], pool.routes[order]),
        unary=problem.unary[:, order], terms=GlobalTerms(
            Budget(terms.budget.cost[order], terms.budget.cap),
            Latency(terms.latency.seconds[order], terms.latency.weight, terms.latency.arcs),
            Coverage(terms.coverage.levels[order], terms.coverage.weights),
            Risk(terms.risk.variance[order], terms.risk.kappa), Load(terms.load.backend[order], terms.load.weight)))
    assert search(problem, seed=3).to_json() == search(moved, seed=3).to_json()


@pytest.mark.slow  # brute force over 240,240 teams for each of 80 problems
@pytest.mark.parametrize("model", ["skill-vectors", "realistic-cards"])
@pytest.mark.parametrize("shape", ["chain", "complete"])
def test_the_normalised_regret_is_small_over_twenty_pools(model, shape):
    regret = measure_case(model, shape)["regret"]["SMART"]
    assert regret["worst"] <= 0.005 and regret["no_team"] == 0
