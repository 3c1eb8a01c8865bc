"""Statistics of a campaign: intervals by a bootstrap clustered by task, paired tests, correction for many comparisons.

Samples of one task are not independent, so whole tasks are drawn with replacement. The interval is BCa (Efron, "Better
Bootstrap Confidence Intervals", JASA 82 (1987) 171), whose acceleration comes from leaving out one task at a time. A
paired difference is tested by flipping signs of whole tasks (exactly up to `EXACT` tasks), and p-values of one
leaderboard are adjusted by Holm's step-down method (Scandinavian Journal of Statistics 6 (1979) 65).
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

DRAWS = 10_000
LEVEL = 0.95
EXACT = 12  # tasks: 2**12 sign patterns are fewer than DRAWS
BLOCK = 4_000_000  # drawn indices held at a time
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval; `low` and `high` are the estimate itself where all tasks agree or only one is
    there (`clusters` 1 says nothing about other tasks)."""

    value: float
    low: float
    high: float
    clusters: int


@dataclass(frozen=True)
class Ratio:
    """An estimated ratio with its interval; None is infinite (nothing in the denominator)."""

    value: float | None
    low: float | None
    high: float | None


def mean(values: Sequence[float], clusters: Sequence[Hashable], seed: int) -> Interval:
    """The mean over samples with its 95 % BCa interval, tasks drawn whole."""
    if not values or len(values) != len(clusters):
        raise ValueError("a mean needs values, each with its cluster")
    sums, counts = _by_cluster(values, clusters)
    estimate = float(sums.sum() / counts.sum())
    n = len(sums)
    if n == 1 or np.ptp(sums / counts) == 0:
        return Interval(estimate, estimate, estimate, n)
    drawn = np.sort(_draw([sums, counts], seed, lambda s, c: s / c))
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    low, high = _bca(drawn, estimate, left_out)
    return Interval(estimate, min(low, estimate), max(high, estimate), n)


def ratio(numerators: Sequence[float], denominators: Sequence[float], clusters: Sequence[Hashable], seed: int) -> Ratio:
    """Sum over sum, such as cost per success, with its 95 % percentile interval, tasks drawn whole."""
    top, _ = _by_cluster(numerators, clusters)
    below, _ = _by_cluster(denominators, clusters)
    if below.sum() == 0:
        return Ratio(None, None, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = _draw([top, below], seed, lambda t, b: np.where(b > 0, t / b, np.inf))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return Ratio(float(top.sum() / below.sum()), _finite(low), _finite(high))


def sign_flip(differences: Sequence[float], clusters: Sequence[Hashable], seed: int) -> float:
    """The two-sided p-value of a mean paired difference of 0, by flipping the signs of whole tasks.

    Exact up to `EXACT` tasks, else from `DRAWS` random patterns with the observed one among them.
    """
    sums, _ = _by_cluster(differences, clusters)
    sums = sums[sums != 0]
    n = len(sums)
    if n == 0:
        return 1.0
    observed = abs(sums.sum()) * (1 - 1e-12)  # rounding must not take the observed pattern out
    if n <= EXACT:
        signs = 1 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ sums) >= observed))
    random, hits = np.random.default_rng(seed), 1
    for size in _blocks(n):
        signs = 1.0 - 2.0 * random.integers(0, 2, (size, n))
        hits += int(np.sum(np.abs(signs @ sums) >= observed))
    return hits / (DRAWS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values, in the given order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, so_far = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = so_far
    return adjusted


def _by_cluster(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """[C] sums and [C] counts, clusters in order of appearance."""
    place = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([place[cluster] for cluster in clusters])
    return (np.bincount(index, weights=np.asarray(values, dtype=np.float64), minlength=len(place)),
            np.bincount(index, minlength=len(place)).astype(np.float64))


def _blocks(n: int) -> list[int]:
    """DRAWS in blocks of at most BLOCK drawn indices."""
    size = max(1, BLOCK // n)
    return [min(size, DRAWS - start) for start in range(0, DRAWS, size)]


def _draw(columns: Sequence[np.ndarray], seed: int, statistic: Callable[..., np.ndarray]) -> np.ndarray:
    """[DRAWS] values of a statistic of the columns' sums over clusters drawn with replacement."""
    random, n = np.random.default_rng(seed), len(columns[0])
    found = []
    for size in _blocks(n):
        drawn = random.integers(0, n, (size, n))
        found.append(statistic(*(column[drawn].sum(axis=1) for column in columns)))
    return np.concatenate(found)


def _bca(drawn: np.ndarray, estimate: float, left_out: np.ndarray) -> tuple[float, float]:
    """The ends of the BCa interval from sorted draws and the jackknife values (Efron 1987, eq. 2.3 and 6.6)."""
    below = (np.sum(drawn < estimate) + np.sum(drawn == estimate) / 2) / len(drawn)
    bias = _NORMAL.inv_cdf(float(np.clip(below, 1 / (2 * len(drawn)), 1 - 1 / (2 * len(drawn)))))
    spread = left_out.mean() - left_out
    scale = float(np.sum(spread**2)) ** 1.5
    acceleration = float(np.sum(spread**3)) / (6 * scale) if scale > 0 else 0.0
    ends = []
    for z in (_NORMAL.inv_cdf((1 - LEVEL) / 2), _NORMAL.inv_cdf((1 + LEVEL) / 2)):
        share = _NORMAL.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        ends.append(float(np.quantile(drawn, share)))
    return ends[0], ends[1]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
