"""Intervals, tests and corrections agree with closed forms, with SciPy, and with a published example."""

import itertools

import numpy as np
import pytest
import scipy.stats

from enlist.evals.campaign import statistics


def test_the_bca_interval_of_independent_samples_is_that_of_scipy():
    for seed, (a, b) in enumerate([(3, 1), (0.3, 3), (8, 0.3)]):  # skewed both ways, so that the acceleration tells
        values = np.random.default_rng(seed).beta(a, b, 40)
        theirs = scipy.stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa",
                                       rng=np.random.default_rng(99)).confidence_interval
        ours = statistics.mean(values.tolist(), range(40), seed)
        width = theirs.high - theirs.low
        assert ours.value == pytest.approx(values.mean())
        assert abs(ours.low - theirs.low) < 0.04 * width and abs(ours.high - theirs.high) < 0.04 * width


def test_repeating_every_sample_of_a_task_says_nothing_new():
    values = np.random.default_rng(0).random(25).tolist()
    once = statistics.mean(values, range(25), 7)
    thrice = statistics.mean(values * 3, [*range(25)] * 3, 7)
    assert (thrice.low, thrice.high, thrice.clusters) == pytest.approx((once.low, once.high, 25))


def test_the_width_is_that_of_the_cluster_means():
    """Balanced tasks: the standard error is the deviation of the task means over the root of their number."""
    random = np.random.default_rng(1)
    effects = random.normal(0.5, 0.1, 400)
    values = (effects[:, None] + random.normal(0, 0.05, (400, 4))).ravel()
    found = statistics.mean(values.tolist(), np.repeat(np.arange(400), 4).tolist(), 0)
    error = values.reshape(400, 4).mean(axis=1).std(ddof=1) / 20
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.05)


def coverage(clusters_are_kept):
    hits, runs = 0, 300
    for run in range(runs):
        random = np.random.default_rng(1000 + run)
        values = (random.normal(0, 1, (30, 1)) + random.normal(0, 0.3, (30, 4))).ravel().tolist()
        tasks = np.repeat(np.arange(30), 4).tolist() if clusters_are_kept else range(120)
        found = statistics.mean(values, tasks, run)
        hits += found.low <= 0 <= found.high
    return hits / runs


def test_clustered_intervals_cover_the_truth_as_often_as_they_say(monkeypatch):
    """300 simulated campaigns: 95 % less the small-sample loss, give or take the error of 300 draws."""
    monkeypatch.setattr(statistics, "DRAWS", 1000)
    assert 0.90 <= coverage(True) <= 0.98
    assert coverage(False) < 0.80  # what the clustering is for


def test_an_interval_of_equal_scores_or_of_one_task_has_no_width():
    assert statistics.mean([0.5] * 4, range(4), 0) == statistics.Interval(0.5, 0.5, 0.5, 4)
    assert statistics.mean([0.0, 1.0], ["a", "a"], 0) == statistics.Interval(0.5, 0.5, 0.5, 1)


def test_a_solver_that_always_wins_has_the_smallest_p_value_there_is():
    for n in (1, 3, 8):
        assert statistics.sign_flip([0.2] * n, range(n), 0) == pytest.approx(2 / 2**n)


def test_the_sign_flip_test_is_the_brute_force_over_all_patterns():
    sums = [0.3, -0.1, 0.25, 0.05, -0.02]
    patterns = [abs(sum(s * v for s, v in zip(signs, sums, strict=True)))
                for signs in itertools.product((1, -1), repeat=5)]
    expected = np.mean([t >= abs(sum(sums)) - 1e-12 for t in patterns])
    split = [v / 2 for v in sums for _ in range(2)]
    assert statistics.sign_flip(split, [g for g in range(5) for _ in range(2)], 0) == expected


def test_the_random_patterns_agree_with_scipy():
    differences = np.random.default_rng(5).normal(0.1, 0.3, 30)
    theirs = scipy.stats.permutation_test((differences, np.zeros(30)), lambda a, b: np.mean(a - b),
                                          permutation_type="samples", vectorized=False, n_resamples=4000,
                                          rng=np.random.default_rng(0)).pvalue
    assert statistics.sign_flip(differences.tolist(), range(30), 1) == pytest.approx(theirs, abs=0.02)


def test_no_difference_at_all_is_no_evidence():
    assert statistics.sign_flip([0.0] * 5, range(5), 0) == 1.0


def test_holm_adjusts_as_in_the_textbook_example():
    """Four p-values with Holm's thresholds worked by hand: 4 x .005, 3 x .01, 2 x .03, and .06 again for .04."""
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([0.6, 0.9]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_a_ratio_has_the_percentile_interval_of_scipy():
    random = np.random.default_rng(3)
    costs, wins = random.gamma(2, 1, 60), (random.random(60) < 0.7).astype(float)
    theirs = scipy.stats.bootstrap((costs, wins), lambda c, w: c.sum() / w.sum(), paired=True, vectorized=False,
                                   method="percentile", n_resamples=4000, rng=np.random.default_rng(0))
    ours = statistics.ratio(costs.tolist(), wins.tolist(), range(60), 0)
    assert ours.value == pytest.approx(costs.sum() / wins.sum())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, rel=0.03)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, rel=0.03)


def test_cost_per_success_is_infinite_without_a_success_and_may_be_at_its_upper_end():
    assert statistics.ratio([1.0, 2.0], [0.0, 0.0], range(2), 0) == statistics.Ratio(None, None, None)
    rare = statistics.ratio([1.0] * 20, [1.0] + [0.0] * 19, range(20), 0)
    assert (rare.value, rare.high) == (20.0, None) and rare.low is not None
