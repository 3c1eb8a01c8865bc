"""No bound is ever below the best team, which brute force knows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.smart import search
from enlist.tools.smart.bounds import Completion, simple_bound, tighten
from enlist.tools.smart.candidates import Candidates
from enlist.tools.smart.shortlist import shortlist

SEEDS = st.integers(0, 10**6)
ROLES = st.integers(1, 4)


def whole_pool(problem):
    return Candidates.build(problem, [np.arange(len(problem.pool))] * len(problem.roles))


def reachable(small):
    """Whether every role has an eligible agent, which building a shortlist needs."""
    return all(np.any(small.problem.fits(role, np.arange(len(small.problem.pool))) > -np.inf)
               for role in range(len(small.problem.roles)))


@given(seed=SEEDS, roles=ROLES, sweeps=st.integers(0, 8))
@settings(max_examples=150, deadline=None)
def test_tightened_bound_holds_for_every_agent_in_every_role(small, seed, roles, sweeps):
    case = small(seed, roles=roles)
    candidates = whole_pool(case.problem)
    tight = tighten(candidates, sweeps)
    assert tight.bound >= case.best
    through = tight.through()
    for role in range(roles):
        others = tuple(other for other in range(roles) if other != role)
        truth = np.max(case.utilities, axis=others)
        for column, row in enumerate(candidates.rows[role]):
            if row >= 0:
                assert through[role, column] >= truth[row]


@given(seed=SEEDS, sweeps=st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_tightening_leaves_every_teams_utility_as_it_was_to_the_last_bit(small, seed, sweeps):
    case = small(seed, roles=3, ineligible=0.0)
    candidates = whole_pool(case.problem)
    tight = tighten(candidates, sweeps)
    moved = Candidates(candidates.rows, tight.unary, tight.pair)
    teams = np.array(list(np.ndindex(*[len(case.problem.pool)] * 3)))
    rows = candidates.rows[np.arange(3), teams]
    assert np.array_equal(moved.utility(teams), case.utilities[tuple(rows.T)])


@given(seed=SEEDS, roles=st.integers(2, 4), sweeps=st.integers(0, 8))
@settings(max_examples=80, deadline=None)
def test_completion_bounds_hold_and_are_exact_when_two_roles_are_open(small, seed, roles, sweeps):
    case = small(seed, roles=roles, ineligible=0.0)
    candidates = whole_pool(case.problem)
    order = tuple(np.random.default_rng(seed).permutation(roles).tolist())
    completion = Completion(tighten(candidates, sweeps), order)
    prefix = tuple(np.random.default_rng(seed + 1).integers(0, 6, size=roles - 2).tolist())
    for depth in range(roles - 1):
        bounds = completion.children(prefix[:depth])
        for child, bound in enumerate(bounds):
            index = [slice(None)] * roles
            for role, member in zip(order, (*prefix[:depth], child), strict=False):
                index[role] = candidates.rows[role, member]
            truth = np.max(case.utilities[tuple(index)])
            assert bound == truth if depth == roles - 2 else bound >= truth


@given(seed=SEEDS, roles=ROLES)
@settings(max_examples=60, deadline=None)
def test_simple_bound_holds(small, seed, roles):
    case = small(seed, roles=roles)
    if reachable(case):
        listed = shortlist(case.problem, np.random.default_rng(0))
        assert simple_bound(case.problem, listed.best_fits) >= case.best


@pytest.mark.parametrize("width", [4, 6])
@given(seed=SEEDS, iterations=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_reported_upper_bound_holds_however_early_the_search_stops(small, width, seed, iterations):
    case = small(seed, ineligible=0.0, differ=False)
    result = search(case.problem, seed=seed, iterations=iterations, width=width)
    assert result.utility <= case.best <= result.upper_bound.value
    assert result.gap == pytest.approx((result.upper_bound.value - result.utility) / result.upper_bound.value)
