"""What a pool learns: the quality of its agents from scores of environments, and which agent is worth trying next.

An agent's prior is a guess of its maker; scores correct it. A guess that is wrong for one agent is mostly wrong for its
whole specialist, so what scores say beyond the priors also shifts the specialist's other agents (`posterior`).

A run for a user takes the best posterior mean. A campaign that has tasks left may look further: `worth` adds the online
knowledge gradient (Ryzhov, Powell and Frazier, Operations Research 60, 2012), in its normal approximation over several
looks (KG(*), Frazier and Powell 2010): what k looks at an agent are expected to gain on the tasks left after them.
Runs for users tell whether an agent ends its work (reliability) and nothing about quality.
"""

from dataclasses import dataclass
from math import erf, pi

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SHARED = 0.8  # part of a prior's error variance that the agents of one specialist share
FLOOR = 0.01  # least variance of an observation: a prior of 0 or 1 is no certainty
LEAST, MOST = 0.02, 0.98  # shifted priors stay within
LOOKS = (1, 2, 4, 8, 16, 32)
EXPLORATION = 0.05
"""Weight of the knowledge gradient. One would be right if a look at one agent were the only choice; the gains of dozens
of agents that are each worth a try do not add up, so that 1 looks too much. Chosen on pools of other seeds than those
that docs/teaming.md reports."""
FAR = 8.0  # standard deviations beyond which a look cannot change the choice


@dataclass(frozen=True, eq=False)
class Posterior:
    """Pseudo-counts of good and bad outcomes, [N] each."""

    good: FloatArray
    bad: FloatArray

    @property
    def mean(self) -> FloatArray:
        return self.good / (self.good + self.bad)

    @property
    def variance(self) -> FloatArray:
        """Of a Beta distribution with these counts."""
        total = self.good + self.bad
        return self.mean * (1 - self.mean) / (total + 1)


def posterior(prior: FloatArray, prior_n: FloatArray, good: FloatArray, seen: FloatArray,
              group: NDArray[np.integer]) -> Posterior:
    """Qualities after `seen` observations each, of which `good` (a sum of scores in [0, 1]) were good.

    The error of a prior is a part that the agents of a specialist share and a part of its own, normal with `SHARED` and
    1 - `SHARED` of the prior's variance m (1 - m) / (n + 1). The shared part's posterior is precision-weighted over the
    observed agents, then each agent's own follows (best linear unbiased prediction). Counts match mean and variance.

    Args:
        prior, prior_n: mean in [0, 1] and weight of each agent's prior, [N]. group: number of its specialist, [N].
    """
    if not np.any(seen > 0):
        return Posterior(prior * prior_n, (1 - prior) * prior_n)
    noise = np.maximum(prior * (1 - prior), FLOOR)  # variance of one observation
    whole = noise / (prior_n + 1)
    common, own = SHARED * whole, (1 - SHARED) * whole
    surprise = np.divide(good, seen, out=prior.copy(), where=seen > 0) - prior
    precision = np.divide(1.0, own + noise / np.maximum(seen, 1e-300), out=np.zeros_like(own), where=seen > 0)
    size = int(np.max(group)) + 1
    members = np.maximum(np.bincount(group, minlength=size), 1)
    inside = np.bincount(group, weights=common, minlength=size) / members  # one variance for each specialist
    total = 1 / np.maximum(inside, 1e-12) + np.bincount(group, weights=precision, minlength=size)
    offset = (np.bincount(group, weights=precision * surprise, minlength=size) / total)[group]
    kept = own * precision  # how much of an agent's own surprise is believed
    mean = np.clip(prior + offset + kept * (surprise - offset), LEAST, MOST)
    variance = own * (1 - kept) + (1 - kept) ** 2 / total[group]
    count = np.maximum(mean * (1 - mean) / variance - 1, 1.0)
    return Posterior(mean * count, (1 - mean) * count)


def worth(known: Posterior, tasks_left: int, able: NDArray[np.bool_] | None = None) -> FloatArray:
    """[N]: posterior mean, plus what trying each agent should gain on the `tasks_left` tasks, this one included.

    `able` [N] limits the comparison to agents that may fill the role. With one task left this is the mean.
    """
    mean, variance, total = known.mean, known.variance, known.good + known.bad
    place = np.flatnonzero(np.ones(len(mean), dtype=bool) if able is None else able)
    found = mean.copy()
    if tasks_left < 2 or len(place) < 2:
        return found
    mine = mean[place]
    first, second = place[int(np.argmax(mine))], np.partition(mine, -2)[-2]
    rival = np.where(place == first, second, mean[first])
    gain = np.zeros(len(place))
    for looks in LOOKS:
        if looks >= tasks_left:
            break
        spread = np.sqrt(variance[place] * looks / (total[place] + looks))  # of the mean after so many looks
        gain = np.maximum(gain, _expected_gain(np.abs(mine - rival), spread) * (tasks_left - looks) / looks)
    found[place] += EXPLORATION * gain
    return found


def _expected_gain(behind: FloatArray, spread: FloatArray) -> FloatArray:
    """E[max(0, X - behind)] for X normal with mean 0 and this standard deviation: s * (phi(z) - z * Phi(-z))."""
    gain = np.zeros_like(behind)
    near = np.flatnonzero((spread > 0) & (behind < FAR * spread))
    z = behind[near] / spread[near]
    tail = 0.5 * (1 - np.array([erf(one / np.sqrt(2)) for one in z]))
    gain[near] = spread[near] * (np.exp(-z * z / 2) / np.sqrt(2 * pi) - z * tail)
    return gain
