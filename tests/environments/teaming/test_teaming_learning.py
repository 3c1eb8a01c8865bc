"""Learning pays: regret falls, and ends below that of policies that never learn."""

import numpy as np
import pytest

from enlist.environments.teaming.learning import PART, POLICIES, World, regrets


def test_regret_is_zero_for_the_best_team_and_never_negative():
    world = World.make(3)
    best = world.best(world.quality, 3)
    optimum = world.utility(best)
    random = np.random.default_rng(0)
    assert all(world.utility(tuple(random.integers(40, size=5).tolist())) <= optimum for _ in range(300))
    assert np.all(regrets(POLICIES["exploits"], 3, tasks=6) >= 0)


def test_a_policy_that_never_learns_repeats_itself_and_one_that_learns_starts_from_the_prior():
    never = regrets(POLICIES["never"], 1, tasks=5)
    assert len(set(never.tolist())) == 1
    assert regrets(POLICIES["exploits"], 1, tasks=1)[0] == never[0]


@pytest.mark.slow  # three policies over 200 tasks and eight pools: minutes
def test_regret_falls_and_ends_below_never_learning_and_not_above_always_exploiting():
    curves = {name: np.stack([regrets(POLICIES[name], seed) for seed in range(8)])
              for name in ("learning", "exploits", "never")}
    early, late = (float(np.mean(curves["learning"][:, part])) for part in (slice(0, PART), slice(-PART, None)))
    assert late < 0.6 * early
    assert np.mean(curves["learning"]) < 0.7 * np.mean(curves["never"])
    assert late <= float(np.mean(curves["exploits"][:, -PART:]))
