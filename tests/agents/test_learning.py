"""What a pool learns agrees with Gaussian conditioning done in full, with closed forms and with simulation."""

import numpy as np
import pytest

from enlist.agents.learning import EXPLORATION, SHARED, Posterior, posterior, worth


def test_without_scores_the_prior_stands():
    known = posterior(np.array([0.6, 0.9]), np.array([8.0, 2.0]), np.zeros(2), np.zeros(2), np.array([0, 0]))
    np.testing.assert_allclose(known.good, [4.8, 1.8])
    np.testing.assert_allclose(known.bad, [3.2, 0.2])


def test_the_posterior_is_that_of_gaussian_conditioning():
    random = np.random.default_rng(0)
    prior, prior_n = np.full(7, 0.6), np.full(7, 8.0)  # equal priors: each specialist has one shared variance
    seen = np.array([0.0, 3, 10, 0, 1, 40, 2])
    good = np.array([random.binomial(int(n), 0.5) for n in seen], dtype=float)
    group = np.array([0, 0, 0, 1, 1, 1, 2])
    noise, whole = 0.6 * 0.4, 0.6 * 0.4 / 9
    cov = np.where(group[:, None] == group[None, :], SHARED * whole, 0) + np.eye(7) * (1 - SHARED) * whole
    here = seen > 0
    gain = cov[:, here] @ np.linalg.inv(cov[np.ix_(here, here)] + np.diag(noise / seen[here]))
    mean = prior + gain @ (good[here] / seen[here] - prior[here])
    variance = np.diag(cov - gain @ cov[here])
    known = posterior(prior, prior_n, good, seen, group)
    np.testing.assert_allclose(known.mean, mean, atol=1e-9)
    np.testing.assert_allclose(known.variance, variance, atol=1e-9)


def test_scores_of_one_agent_move_its_specialist_and_nobody_else():
    known = posterior(np.full(4, 0.5), np.full(4, 8.0), np.array([0.0, 0, 0, 0]), np.array([20.0, 0, 0, 0]),
                      np.array([0, 0, 1, 1]))
    assert known.mean[0] < known.mean[1] < 0.5 == known.mean[2] == known.mean[3]


def test_the_last_task_takes_the_mean_and_uncertain_agents_gain_while_tasks_are_left():
    known = Posterior(np.array([60.0, 1.1, 58.0]), np.array([40.0, 0.9, 42.0]))
    np.testing.assert_array_equal(worth(known, 1), known.mean)
    gain = worth(known, 100) - known.mean
    assert gain[1] > gain[0] > 0 and gain[1] > gain[2] > 0
    assert np.argmax(worth(known, 10_000)) == 1 and np.argmax(worth(known, 1)) == 0


def test_what_a_look_gains_is_what_simulation_gains():
    known = Posterior(np.array([30.0, 5.0]), np.array([20.0, 5.0]))  # means .6 and .5
    tasks_left = 2  # one look, one task after it
    spread = float(np.sqrt(known.variance[1] * 1 / (10 + 1)))
    draws = np.random.default_rng(1).normal(0.5, spread, size=2_000_000)
    expected = np.mean(np.maximum(0.0, draws - 0.6))
    assert worth(known, tasks_left)[1] - 0.5 == pytest.approx(EXPLORATION * expected, rel=0.05)


def test_agents_that_may_not_fill_the_role_are_no_rivals():
    known = Posterior(np.array([90.0, 55.0, 50.0]), np.array([10.0, 45.0, 50.0]))
    found = worth(known, 50, able=np.array([False, True, True]))
    alone = worth(Posterior(known.good[1:], known.bad[1:]), 50)
    assert found[0] == known.mean[0]
    np.testing.assert_array_equal(found[1:], alone)
