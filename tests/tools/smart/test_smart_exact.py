"""The exact optimum is what brute force finds, on forests (dynamic programming) and on general graphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem, chain, complete
from enlist.tools.smart.exact import exact
from enlist.tools.smart.pools import synthetic_problem
from enlist.tools.smart.topology import is_forest


@given(seed=st.integers(0, 10**6), roles=st.integers(1, 5), agents=st.integers(5, 9), density=st.floats(0, 1),
       decimals=st.sampled_from([2, 64]))
@settings(max_examples=150, deadline=None)
def test_exact_equals_brute_force_on_any_graph(small, seed, roles, agents, density, decimals):
    case = small(seed, roles=roles, agents=agents, density=density, decimals=decimals)
    if case.best == -np.inf:
        with pytest.raises(EnlistError) as fault:
            exact(case.problem)
        assert fault.value.code == "not_found"
        return
    result = exact(case.problem)
    assert result.utility == case.best == case.utilities[result.rows]
    assert result.ids == tuple(case.problem.pool.ids[row] for row in result.rows)


@pytest.mark.parametrize("shape", ["chain", "complete"])
@pytest.mark.parametrize("model", ["skill-vectors", "realistic-cards"])
def test_exact_equals_brute_force_over_twelve_cards_and_five_roles(model, shape):
    problem = synthetic_problem(model, shape, agents=12, seed=4)
    pool, total = problem.pool, np.zeros([12] * 5)
    synergy = pool.vectors.astype(np.float64) @ pool.vectors.astype(np.float64).T
    for role in range(5):
        total = total + problem.unary[role].reshape([12 if axis == role else 1 for axis in range(5)])
        for other in range(role + 1, 5):
            term = np.where(np.eye(12, dtype=bool), -np.inf, 0.15 * synergy if (role, other) in problem.edges else 0.0)
            total = total + term.reshape([12 if axis in (role, other) else 1 for axis in range(5)])
    result = exact(problem)
    assert result.utility == pytest.approx(np.max(total), abs=1e-7)
    assert total[result.rows] == pytest.approx(np.max(total), abs=1e-7)


def test_of_equal_teams_the_same_is_named_whatever_the_order_of_rows():
    random = np.random.default_rng(2)
    fits, vectors = random.integers(0, 2, size=(3, 40)) / 2, np.zeros((40, 2))
    found = set()
    for order in (np.arange(40), np.arange(40)[::-1], random.permutation(40)):
        pool = PoolColumns([f"card-{row:02d}" for row in order], vectors[order].astype(np.float32))
        found.add(exact(TeamProblem(pool, ("a", "b", "c"), complete(3), fits[:, order])).ids)
    assert len(found) == 1


def test_chains_and_stars_are_forests_and_a_triangle_is_not():
    assert is_forest(4, chain(4)) and is_forest(4, ((0, 1), (0, 2), (0, 3))) and is_forest(3, ())
    assert not is_forest(3, complete(3))


def test_too_large_a_pool_and_too_few_nodes_are_said():
    big = TeamProblem(PoolColumns([str(row) for row in range(1001)]), ("a",), (), np.zeros((1, 1001)))
    with pytest.raises(EnlistError) as fault:
        exact(big)
    assert fault.value.code == "bad_input"
    with pytest.raises(EnlistError) as fault:
        exact(synthetic_problem("realistic-cards", "complete", agents=60, seed=0), max_nodes=1)
    assert fault.value.code == "undecided"
