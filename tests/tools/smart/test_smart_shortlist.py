"""The shortlist keeps what the optimum needs, whatever the blocks and the order of rows."""

import numpy as np
import pytest

from enlist.tools.smart import PoolColumns, TeamProblem, complete, problem
from enlist.tools.smart.exact import exact
from enlist.tools.smart.pools import MODELS, synthetic_problem
from enlist.tools.smart.shortlist import first_by_score, prefilter, shortlist


def test_prefilter_in_blocks_equals_a_full_sort(monkeypatch):
    monkeypatch.setattr(problem, "SCAN_BLOCK", 64)
    random = np.random.default_rng(3)
    fits = np.where(random.random((1, 1000)) < 0.1, -np.inf, random.integers(0, 20, size=(1, 1000)) / 20)
    ids = [f"card-{number:04d}" for number in random.permutation(1000)]
    one = TeamProblem(PoolColumns(ids), ("x",), (), fits)
    kept, eligible = prefilter(one, 0, 150)
    expected = sorted(np.flatnonzero(fits[0] > -np.inf), key=lambda row: (-fits[0, row], ids[row]))
    assert kept.tolist() == [int(row) for row in expected[:150]]
    assert eligible == len(expected)


def test_best_first_with_ties_by_id_and_never_the_ineligible():
    one = TeamProblem(PoolColumns(["d", "c", "b", "a"]), ("x",), (), np.zeros((1, 4)))
    scores = np.array([1.0, 1.0, -np.inf, 1.0])
    assert first_by_score(one, np.arange(4), scores, 2).tolist() == [3, 1]
    assert first_by_score(one, np.arange(4), scores, 9).tolist() == [3, 1, 0]


def test_a_small_pool_is_listed_whole_and_a_large_one_to_the_width():
    random = np.random.default_rng(0)
    listed = shortlist(synthetic_problem("skill-vectors", "complete", agents=50), random)
    assert [len(rows) for rows in listed.rows] == [50] * 5 and all(listed.covers)
    listed = shortlist(synthetic_problem("skill-vectors", "complete", agents=300), random)
    assert [len(set(rows.tolist())) for rows in listed.rows] == [96] * 5 and not any(listed.covers)


def test_synergy_brings_in_agents_that_fit_alone_would_leave_out():
    """Synergy decides here (beta 2): the shortlist still holds the optimum, the fittest 24 do not."""
    pool, fits = MODELS["skill-vectors"](300, 4, 11)
    strong = TeamProblem(pool, ("a", "b", "c", "d"), complete(4), fits, beta=2.0)
    best = exact(strong).rows
    listed = shortlist(strong, np.random.default_rng(0))
    assert all(row in rows for row, rows in zip(best, listed.rows, strict=True))
    fittest = [first_by_score(strong, np.arange(300), strong.fits(role, np.arange(300)), 96) for role in range(4)]
    assert not all(row in rows for row, rows in zip(best, fittest, strict=True))


@pytest.mark.parametrize("partners", [1, 2])
def test_a_role_that_must_differ_keeps_a_route_more_than_it_has_partners(partners):
    agents, roles = 2500, partners + 1
    routes = np.zeros(agents, dtype=np.int64)
    routes[-1], routes[-2] = 1, 2
    fits = np.tile(np.linspace(2, 1, agents), (roles, 1))
    apart = TeamProblem(PoolColumns([f"card-{row:04d}" for row in range(agents)], routes=routes),
                        tuple(f"role-{role}" for role in range(roles)), (), fits,
                        differ=tuple((0, other) for other in range(1, roles)))
    listed = shortlist(apart, np.random.default_rng(0))
    assert len(np.unique(routes[listed.rows[0]])) > partners
