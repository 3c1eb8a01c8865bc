"""The tree alone, without a warm start or climbs, closes only what cannot be better."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.smart.bounds import Completion, tighten
from enlist.tools.smart.candidates import Candidates
from enlist.tools.smart.tree import Tree


def grow(problem, seed, sweeps, floor=-np.inf):
    """Iterate until the tree is closed. Returns the best utility seen and the number of iterations."""
    candidates = Candidates.build(problem, [np.arange(len(problem.pool))] * len(problem.roles))
    order = tuple(np.random.default_rng(seed).permutation(len(problem.roles)).tolist())
    tree = Tree(Completion(tighten(candidates, sweeps), order), np.random.default_rng(seed))
    for done in range(10_000):
        assert tree.bound(floor) >= floor
        teams = tree.iterate(floor)
        if teams is None:
            return floor, done
        if len(teams):
            floor = max(floor, float(candidates.utility(teams)[0]))
    raise AssertionError("the tree never closed")


@given(seed=st.integers(0, 10**6), roles=st.integers(1, 4), agents=st.integers(4, 9), sweeps=st.sampled_from([0, 1, 6]))
@settings(max_examples=250, deadline=None)
def test_a_closed_tree_has_seen_the_best_team(small, seed, roles, agents, sweeps):
    case = small(seed, roles=roles, agents=agents)
    assert grow(case.problem, seed, sweeps)[0] == case.best


@pytest.mark.parametrize("seed", range(5))
def test_a_good_floor_and_tighter_bounds_both_save_iterations(small, seed):
    case = small(seed, agents=10, roles=4, ineligible=0.0, differ=False)
    loose, tight = grow(case.problem, seed, 0)[1], grow(case.problem, seed, 10)[1]
    known = grow(case.problem, seed, 10, floor=case.best)[1]
    assert known <= tight <= loose and known < loose
