"""At 300 cards and 5 roles the search reaches the optimum, on pools that are too hard for greedy."""

from functools import cache

import numpy as np
import pytest

from enlist.tools.smart import search
from enlist.tools.smart.baselines import greedy
from enlist.tools.smart.exact import exact
from enlist.tools.smart.pools import synthetic_problem

CASES = [(model, shape) for model in ("skill-vectors", "realistic-cards") for shape in ("chain", "complete")]
GREEDY_AT_MOST = {"chain": 0.99, "complete": 0.98}


@cache
def ratios(model, shape, seeds):
    """[2, seeds]: utility over optimum of the search and of greedy; also checks that nothing beats the optimum."""
    found = []
    for seed in range(seeds):
        problem = synthetic_problem(model, shape, seed=seed)
        best = exact(problem).utility
        result = search(problem, seed=seed, iterations=300)
        assert result.iterations <= 300 and result.utility <= best <= result.upper_bound.value
        found.append((result.utility / best, problem.utility(greedy(problem)) / best))
    return np.array(found).T


@pytest.mark.parametrize(("model", "shape"), CASES)
def test_search_reaches_the_optimum_over_three_seeds(model, shape):
    searched, _ = ratios(model, shape, 3)
    assert np.mean(searched) >= 0.998 and np.min(searched) >= 0.985


@pytest.mark.slow  # 80 exact optima take about a minute
@pytest.mark.parametrize(("model", "shape"), CASES)
def test_search_reaches_the_optimum_over_twenty_seeds(model, shape):
    searched, _ = ratios(model, shape, 20)
    assert np.mean(searched) >= 0.998 and np.min(searched) >= 0.985


@pytest.mark.slow  # shares the exact optima of the test above
@pytest.mark.parametrize("shape", ["chain", "complete"])
def test_realistic_pools_are_too_hard_for_greedy(shape):
    _, greedily = ratios("realistic-cards", shape, 20)
    assert np.mean(greedily) <= GREEDY_AT_MOST[shape]
