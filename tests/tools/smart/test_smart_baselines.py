"""The peers of the search are honest: seeded, valid, and as good as their definitions say."""

import numpy as np
import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem, chain
from enlist.tools.smart.baselines import greedy, random_teams, restarted_one_opt
from enlist.tools.smart.pools import MODELS, synthetic_problem


def test_greedy_takes_the_best_beside_those_chosen():
    """By hand: role x takes b (2); beside b, role y prefers c (0 + 1) over a (0.5 + 0)."""
    vectors = np.array([[0.0], [1.0], [1.0]])
    fits = np.array([[1.0, 2.0, 0.0], [0.5, 0.0, 0.0]])
    two = TeamProblem(PoolColumns(["a", "b", "c"], vectors), ("x", "y"), chain(2), fits, 1.0)
    assert greedy(two) == (1, 2)
    assert greedy(two, order=(1, 0)) == (1, 0)  # role y first takes a (0.5), then role x takes b


def test_greedy_that_paints_itself_into_a_corner_says_so():
    fits = np.array([[2.0, 1.0], [1.0, -np.inf]])
    with pytest.raises(EnlistError, match="'y'"):
        greedy(TeamProblem(PoolColumns(["a", "b"]), ("x", "y"), (), fits))


def test_no_single_replacement_improves_a_one_opt_team(small):
    case = small(5, agents=7, ineligible=0.0, differ=False)
    team = restarted_one_opt(case.problem, seed=0, restarts=3)
    for role in range(4):
        line = case.utilities[tuple(slice(None) if other == role else row for other, row in enumerate(team))]
        assert np.max(line) == case.utilities[team]


def test_random_teams_are_valid_seeded_and_cover_all_that_is_allowed(small):
    case = small(8, agents=4, roles=2, ineligible=0.0)
    teams = random_teams(case.problem, 400, seed=1)
    assert teams == random_teams(case.problem, 400, seed=1) != random_teams(case.problem, 400, seed=2)
    assert set(teams) == {tuple(team) for team in np.argwhere(case.utilities > -np.inf).tolist()}


def test_random_teams_give_up_where_there_is_none():
    fits = np.array([[1.0, -np.inf], [1.0, -np.inf]])
    with pytest.raises(EnlistError) as fault:
        random_teams(TeamProblem(PoolColumns(["a", "b"]), ("x", "y"), (), fits), 1, 0)
    assert fault.value.code == "not_found"


@pytest.mark.parametrize("model", sorted(MODELS))
def test_synthetic_pools_are_seeded_and_marked_as_synthetic(model):
    pool, fits = MODELS[model](80, 5, 3)
    again, fits_again = MODELS[model](80, 5, 3)
    assert np.array_equal(fits, fits_again) and np.array_equal(pool.vectors, again.vectors)
    assert not np.array_equal(fits, MODELS[model](80, 5, 4)[1])
    assert all(card.startswith("synthetic-") for card in pool.ids)
    assert np.allclose(np.linalg.norm(pool.vectors, axis=1), 1, atol=1e-5)


def test_realistic_pools_hold_near_duplicates_and_every_role_can_be_filled():
    for seed in range(20):
        problem = synthetic_problem("realistic-cards", "chain", seed=seed)
        assert np.all(np.sum(problem.unary > -np.inf, axis=1) >= 5)
        vectors = problem.pool.vectors.astype(np.float64)
        near = (vectors @ vectors.T > 0.7).sum(axis=1) - 1
        assert np.median(near) >= 3


def test_unknown_pool_model_is_refused_naming_the_known():
    with pytest.raises(EnlistError, match="skill-vectors"):
        synthetic_problem("people", "chain")
