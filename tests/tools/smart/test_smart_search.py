"""The search finds what brute force finds, says how, and says the same again."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem, chain, complete, search
from enlist.tools.smart.pools import synthetic_problem

FOUND_BY = {"greedy", "warm-start climb", "tree", "roll-out climb", "random climb", "polish"}


@given(seed=st.integers(0, 10**6), roles=st.integers(1, 5), decimals=st.sampled_from([2, 64]))
@settings(max_examples=120, deadline=None)
def test_exhausted_search_over_the_whole_pool_equals_brute_force(small, seed, roles, decimals):
    case = small(seed, roles=roles, decimals=decimals)
    if case.best == -np.inf:
        with pytest.raises(EnlistError) as fault:
            search(case.problem, seed=seed, iterations=10_000)
        assert fault.value.code == "not_found"
        return
    result = search(case.problem, seed=seed, iterations=10_000)
    assert result.exhausted and result.stopped_by == "exhaustion"
    assert result.utility == case.best == case.utilities[result.rows]
    assert result.upper_bound.value == result.utility and result.gap == 0


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_terms_add_up_and_runner_up_is_the_second_best_of_its_role(small, seed):
    case = small(seed, ineligible=0.0, differ=False)
    result = search(case.problem, seed=seed)
    assert sum(member.unary + member.synergy for member in result.team) == result.utility
    for role, member in enumerate(result.team):
        line = case.utilities[tuple(slice(None) if other == role else row for other, row in enumerate(result.rows))]
        others = np.delete(line, member.row)
        second = np.max(others)
        tied = [card for row, card in enumerate(case.problem.pool.ids) if row != member.row and line[row] == second]
        assert member.runner_up == min(tied)
        assert member.margin == result.utility - second


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_hard_constraints_are_never_broken(small, seed):
    case = small(seed, agents=8)
    if case.best == -np.inf:
        return
    result = search(case.problem, seed=seed, iterations=3)
    assert len(set(result.rows)) == len(result.rows)
    routes = case.problem.pool.routes
    for one, other in case.problem.differ:
        assert routes[result.rows[one]] != routes[result.rows[other]] or routes[result.rows[one]] < 0
    assert all(case.problem.unary[role, row] > -np.inf for role, row in enumerate(result.rows))


@pytest.mark.parametrize("shape", ["chain", "complete"])
@pytest.mark.parametrize("model", ["skill-vectors", "realistic-cards"])
def test_same_seed_gives_the_same_bytes_and_row_order_does_not_matter(model, shape):
    problem = synthetic_problem(model, shape, seed=7)
    first = search(problem, seed=3).to_json()
    assert search(problem, seed=3).to_json() == first
    order = np.random.default_rng(0).permutation(len(problem.pool))
    pool = PoolColumns([problem.pool.ids[row] for row in order], problem.pool.vectors[order])
    assert search(replace(problem, pool=pool, unary=problem.unary[:, order]), seed=3).to_json() == first


def test_row_order_does_not_matter_where_most_cards_tie():
    random = np.random.default_rng(1)
    fits, vectors = random.integers(0, 3, size=(4, 400)) / 2, random.integers(-1, 2, size=(400, 2)) / 2
    ids = [f"card-{number:03d}" for number in range(400)]
    results = set()
    for order in (np.arange(400), np.arange(400)[::-1], random.permutation(400)):
        pool = PoolColumns([ids[row] for row in order], vectors[order].astype(np.float32))
        results.add(search(TeamProblem(pool, ("a", "b", "c", "d"), complete(4), fits[:, order])).to_json())
    assert len(results) == 1


def test_a_function_of_fits_and_synergy_gives_the_team_of_the_arrays():
    problem = synthetic_problem("realistic-cards", "chain", agents=120, seed=2)
    vectors = problem.pool.vectors.astype(np.float64)
    as_functions = TeamProblem(
        PoolColumns(problem.pool.ids), problem.roles, problem.edges, lambda role, rows: problem.unary[role][rows],
        synergy=lambda a, b, edge: vectors[a] @ vectors[b].T, synergy_most=1.01)
    one, other = search(problem), search(as_functions)
    assert one.ids == other.ids
    assert one.utility == pytest.approx(other.utility, abs=1e-8)


def test_directed_synergy_is_asked_in_the_direction_of_its_edge():
    """Card 0 likes to hand over to card 1, never the other way round."""
    liked = np.array([[0, 1.0], [-1.0, 0]])
    pool = PoolColumns(["card-0", "card-1"])
    for edge, team in (((0, 1), ("card-0", "card-1")), ((1, 0), ("card-1", "card-0"))):
        problem = TeamProblem(pool, ("first", "second"), (edge,), np.zeros((2, 2)), 1.0,
                              synergy=lambda a, b, _: liked[np.ix_(a, b)], synergy_most=1.0)
        result = search(problem)
        assert result.ids == team and result.utility == 1.0


def test_one_agent_for_each_role_is_enough():
    fits = np.where(np.eye(3, dtype=bool), 0.5, -np.inf)
    result = search(TeamProblem(PoolColumns(["c", "a", "b"]), ("x", "y", "z"), chain(3), fits))
    assert result.ids == ("c", "a", "b") and result.utility == 1.5
    assert [member.runner_up for member in result.team] == [None] * 3
    assert [member.margin for member in result.team] == [None] * 3


def test_a_single_role_takes_the_fittest_and_the_first_id_among_equals():
    result = search(TeamProblem(PoolColumns(["z", "b", "a", "c"]), ("only",), (), np.array([[1.0, 2.0, 2.0, 0.0]])))
    assert result.ids == ("a",) and result.team[0].runner_up == "b" and result.team[0].margin == 0


def test_a_role_without_an_eligible_agent_is_named():
    fits = np.zeros((2, 5))
    fits[1] = -np.inf
    with pytest.raises(EnlistError, match="'judge'") as fault:
        search(TeamProblem(PoolColumns(list("abcde")), ("analyst", "judge"), chain(2), fits))
    assert fault.value.code == "not_found"


def test_fewer_agents_than_roles_is_refused_naming_the_roles():
    with pytest.raises(EnlistError, match="analyst, judge") as fault:
        TeamProblem(PoolColumns(["a"]), ("analyst", "judge"), chain(2), np.zeros((2, 1)))
    assert fault.value.code == "bad_input"


def test_two_roles_that_share_their_only_agent_have_no_team():
    fits = np.array([[1.0, -np.inf, -np.inf], [1.0, -np.inf, -np.inf]])
    with pytest.raises(EnlistError, match="analyst, judge") as fault:
        search(TeamProblem(PoolColumns(list("abc")), ("analyst", "judge"), (), fits))
    assert fault.value.code == "not_found"


def test_verifier_of_another_route_is_found_though_a_thousand_fitter_ones_share_the_route():
    agents = 3000
    fits = np.vstack([np.linspace(1, 2, agents), np.linspace(1, 2, agents)])
    fits[0, :1500] = -np.inf  # analysts are of route 0 only
    routes = np.zeros(agents, dtype=np.int64)
    routes[5] = 1
    pool = PoolColumns([f"card-{row:04d}" for row in range(agents)], routes=routes)
    result = search(TeamProblem(pool, ("analyst", "verifier"), chain(2), fits, differ=((0, 1),)))
    assert result.ids == ("card-2999", "card-0005")


def test_the_clock_stops_the_tree_and_the_result_says_so():
    ticks = iter(np.arange(0, 1000, 0.1))
    problem = synthetic_problem("realistic-cards", "complete", seed=2)
    assert search(problem, seed=2).iterations > 2
    result = search(problem, seed=2, seconds=0.25, clock=lambda: float(next(ticks)))
    assert result.stopped_by == "wall-clock" and not result.exhausted and result.iterations == 2


@pytest.mark.parametrize("limits", [{"seed": -1}, {"iterations": -1}, {"width": 1}, {"seconds": 0.0}])
def test_senseless_limits_are_refused(small, limits):
    with pytest.raises(EnlistError) as fault:
        search(small(0, ineligible=0.0, differ=False).problem, **limits)
    assert fault.value.code == "bad_input"


def test_json_names_every_promised_part():
    result = search(synthetic_problem("realistic-cards", "chain", agents=60, roles=3))
    data = json.loads(result.to_json())
    assert set(data) == {"team", "utility", "found_by", "upper_bound", "gap", "iterations", "shortlist", "exhausted",
                         "stopped_by", "global_terms"}
    assert data["found_by"] in FOUND_BY
    assert [member["agent"] for member in data["team"]] == list(result.ids)
    assert set(data["team"][0]) == {"role", "agent", "unary", "synergy", "runner_up", "margin"}


def test_the_bytes_do_not_depend_on_threads_or_the_kernels_of_the_linear_algebra():
    """OpenBLAS sums dot products in another order for a processor of 2004; exact arithmetic does not mind."""
    script = ("from enlist.tools.smart import search; from enlist.tools.smart.pools import synthetic_problem\n"
              "print(search(synthetic_problem('realistic-cards', 'complete', seed=5), seed=5).to_json())")
    printed = [subprocess.run([sys.executable, "-c", script], env={**os.environ, **changed}, capture_output=True,
                              text=True, check=True).stdout
               for changed in ({"OPENBLAS_NUM_THREADS": "2"},
                               {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"})]
    assert printed[0] == printed[1]
    here = search(synthetic_problem("realistic-cards", "complete", seed=5), seed=5)
    assert printed[0] == here.to_json() + "\n"
