"""1-opt over the whole pool finds the best replacement, in whatever blocks the pool is read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.smart import polish as polishing
from enlist.tools.smart.polish import best_other, polish


@pytest.mark.parametrize("block", [1, 3, 100])
@given(seed=st.integers(0, 10**6), decimals=st.sampled_from([2, 64]))
@settings(max_examples=60, deadline=None)
def test_best_other_is_the_best_of_the_line_and_the_first_id_among_equals(small, block, seed, decimals):
    case = small(seed, agents=8, decimals=decimals)
    team = tuple(np.random.default_rng(seed).permutation(8)[:4].tolist())
    if case.utilities[team] == -np.inf:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "SCAN_BLOCK", block)
        for role in range(4):
            row, score = best_other(case.problem, role, team)
            line = case.utilities[tuple(slice(None) if other == role else member for other, member in enumerate(team))]
            others = {case.problem.pool.ids[other]: line[other] for other in range(8) if other != team[role]}
            most = max(others.values())
            if most == -np.inf:
                assert row is None
                continue
            assert case.problem.pool.ids[row] == min(card for card, value in others.items() if value == most)
            now = case.problem.given(role, np.array([team[role]]), team)[0]
            assert score - now == line[row] - case.utilities[team]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_polished_team_is_never_worse_and_says_whether_it_changed(small, seed):
    case = small(seed, agents=7, ineligible=0.0, differ=False)
    team, changed = polish(case.problem, (0, 1, 2, 3))
    assert changed == (tuple(team) != (0, 1, 2, 3)) == (case.utilities[tuple(team)] > case.utilities[0, 1, 2, 3])
    assert not polish(case.problem, team)[1]
