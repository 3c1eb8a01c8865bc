"""Fits from columns agree with the formula in exact fractions, and a scan over them leaves out nobody who matters."""

from fractions import Fraction

import numpy as np
import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem, chain, search
from enlist.tools.smart.columns import ColumnFits
from enlist.tools.smart.polish import best_other
from enlist.tools.smart.shortlist import prefilter


def columns(agents, seed=0, roles=3, dimensions=24, ties=False):
    random = np.random.default_rng(seed)
    features = random.normal(size=(agents, dimensions)).astype(np.float32) / 5
    scale = random.random(agents).astype(np.float32)
    if ties:
        features, scale = np.round(features, 1), np.round(scale, 1)
    return ColumnFits(features, random.normal(size=(roles, dimensions)).astype(np.float32), scale,
                      random.random(agents).astype(np.float32) / 10, 1.0, random.random((roles, agents)) < 0.8)


def pool(agents, seed=0):
    vectors = np.random.default_rng([seed, 1]).normal(size=(agents, 8)).astype(np.float32) / 4
    return PoolColumns(np.array([f"c{number:06d}" for number in range(agents)]), vectors)


def problems(agents, seed=0, ties=False):
    """The same problem with fits from columns and with fits as an array."""
    fits = columns(agents, seed, ties=ties)
    dense = np.stack([fits(role, slice(0, agents)) for role in range(3)])
    return [TeamProblem(pool(agents, seed), ("a", "b", "c"), chain(3), unary) for unary in (fits, dense)]


def test_exact_fits_are_the_formula_in_fractions():
    fits = columns(5)
    for role in range(3):
        got = fits(role, np.arange(5))
        for agent in range(5):
            if not fits.eligible[role][agent]:
                assert got[agent] == -np.inf
                continue
            dot = sum(Fraction(float(f)) * Fraction(float(w))
                      for f, w in zip(fits.features[agent], fits.weights[role], strict=True))
            right = (1 + dot) * Fraction(float(fits.scale[agent])) - Fraction(float(fits.penalty[agent]))
            assert abs(Fraction(float(got[agent])) - right) < Fraction(1, 2**50)


def test_a_block_is_within_its_error_of_the_exact_fits():
    fits = columns(20_000)
    for role in range(3):
        exact, near = fits(role, slice(0, 20_000)), fits.block(slice(0, 20_000))[role]
        able = exact > -np.inf
        np.testing.assert_array_equal(able, near > -np.inf)
        worst = np.max(np.abs(exact[able] - near[able]))
        assert 0 < worst <= fits.error < 1e-3


@pytest.mark.parametrize("ties", [False, True])
def test_ceilings_lie_above_every_fit_and_at_most_their_slack(ties):
    for problem in problems(3000, ties=ties):
        for role in range(3):
            fits, top = problem.fits(role, np.arange(3000)), problem.ceilings[role]
            able = fits > -np.inf
            np.testing.assert_array_equal(able, top > -np.inf)
            assert np.all(top[able] >= fits[able])
            assert all(one - other <= problem.slack(float(one))
                       for one, other in zip(top[able].astype(float), fits[able], strict=True))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_prefilter_is_a_full_sort_whatever_gives_the_fits(seed, ties):
    for problem in problems(70_000, seed, ties):
        fits = problem.fits(1, np.arange(70_000))
        order = np.lexsort((np.arange(70_000), -fits))[:500]
        kept, eligible = prefilter(problem, 1, 500)
        np.testing.assert_array_equal(kept, order)
        assert eligible == np.sum(fits > -np.inf)


@pytest.mark.parametrize("ties", [False, True])
def test_the_best_other_is_found_by_looking_at_everybody(ties):
    for problem in problems(4000, 5, ties):
        team = [10, 20, 30]
        for role in range(3):
            scores = problem.given(role, np.arange(4000), team)
            scores[team[role]] = -np.inf
            expected = int(np.argmax(scores))  # ids ascend: the first is the smallest
            for near in (None, np.arange(7)):
                assert best_other(problem, role, team, near) == (expected, scores[expected])


def test_search_gives_the_same_result_for_columns_and_for_an_array():
    for seed in range(3):
        first, second = (search(problem, seed=seed) for problem in problems(3000, seed))
        assert first == second


def test_scores_beside_many_teams_are_those_beside_each():
    problem = problems(50)[0]
    teams, rows = np.random.default_rng(1).integers(50, size=(40, 3)), np.array([3, 40, 7, 21, 0])
    for role in range(3):
        many = problem.beside_teams(role, rows, teams)
        for team, line in zip(teams, many, strict=True):
            np.testing.assert_allclose(line, problem.beside(role, rows, team.tolist()), atol=1e-8)


def test_ids_in_order_need_no_set_and_ids_out_of_order_are_still_checked():
    assert PoolColumns(np.array(["a", "b"])).sorted and not PoolColumns(["b", "a"]).sorted
    for ids in (["b", "a", "b"], np.array(["b", "a", "b"]), ["a", "a"]):
        with pytest.raises(EnlistError, match="stands twice"):
            PoolColumns(ids)


@pytest.mark.parametrize(("field", "value"), [
    ("features", np.full((4, 2), np.nan, dtype=np.float32)), ("weights", np.full((3, 2), 9, dtype=np.float32)),
    ("scale", np.array([1, 2, np.inf, 0], dtype=np.float32)), ("penalty", np.zeros(3, dtype=np.float32)),
    ("eligible", np.ones((2, 4), dtype=bool)), ("features", np.zeros((4, 300), dtype=np.float32))])
def test_columns_that_make_no_sense_are_refused(field, value):
    good = {"features": np.zeros((4, 2), dtype=np.float32), "weights": np.zeros((3, 2), dtype=np.float32),
            "scale": np.ones(4, dtype=np.float32), "penalty": np.zeros(4, dtype=np.float32)}
    with pytest.raises(EnlistError) as fault:
        ColumnFits(**{**good, field: value})
    assert fault.value.code == "bad_input"
