"""Confidence intervals (value, low, high) that miss the truth with probability at most `level`.

Those of medians, shares and bounded means hold for any law; a bootstrap's is approximate, and its level is measured.
"""

import math
from collections.abc import Callable

import numpy as np

from feint._types import FloatArray

Interval = tuple[float, float, float]

_RESAMPLES = 1000


def median_interval(times: FloatArray, level: float = 0.05) -> Interval:
    """Return the median and its interval between order statistics, exact for any law; NaN is a time that never came.

    The interval is (x_(k), x_(n + 1 − k)) with the largest k for which P(Bin(n, ½) < k) ≤ level/2. With fewer than
    1 + log₂(1/level) runs there is no such k, and the interval is the whole line.
    """
    from scipy import stats

    ordered = np.sort(np.where(np.isnan(times), math.inf, times))
    n = ordered.size
    k = int(stats.binom.ppf(level / 2, n, 0.5))
    low, high = (ordered[k - 1], ordered[n - k]) if k else (-math.inf, math.inf)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2), float(low), float(high)


def gappy_median_interval(values: FloatArray, level: float = 0.05) -> Interval:
    """Return the median and its interval where a NaN may be any value: it counts on both sides."""
    low = median_interval(np.where(np.isnan(values), -math.inf, values), level)[1]
    high = median_interval(values, level)[2]
    return min(max(float(np.nanmedian(values)), low), high), low, high


def share_interval(successes: int, trials: int, level: float = 0.05) -> Interval:
    """Return a share and its interval (Clopper and Pearson): exact; conservative if trials differ in probability."""
    from scipy import stats

    found = stats.binomtest(successes, trials).proportion_ci(1 - level)
    return successes / trials, float(found.low), float(found.high)


def bounded_mean_interval(values: FloatArray, level: float = 0.05) -> Interval:
    """Return the mean of values from 0 to 1 and its interval, valid for any law.

    Hoeffding (1963): n·KL(sample mean ‖ mean), the KL of coins, exceeds log(2/level) with probability at most `level`.
    Student's t would give a shorter interval, but it is wrong where most values are equal.
    """
    from scipy.optimize import brentq
    from scipy.special import rel_entr

    mean, limit = float(np.mean(values)), math.log(2 / level) / np.size(values)

    def excess(other: float) -> float:
        return float(rel_entr(mean, other) + rel_entr(1 - mean, 1 - other)) - limit

    tiny = 1e-300
    low = 0.0 if mean <= 0 or excess(tiny) <= 0 else brentq(excess, tiny, mean, xtol=1e-14)
    high = 1.0 if mean >= 1 or excess(1 - 1e-16) <= 0 else brentq(excess, mean, 1 - 1e-16, xtol=1e-14)
    return mean, float(low), float(high)


def bootstrap(statistic: Callable[[FloatArray], FloatArray], medians_of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a statistic of medians over runs, (..., run) -> (...), and its standard error.

    Whole runs are resampled, since runs of different points may share seeds. `statistic` takes medians (..., draw).
    """
    runs = medians_of.shape[-1]
    drawn = np.random.default_rng(0).integers(runs, size=(_RESAMPLES, runs))
    value = statistic(np.median(medians_of, -1)[..., None])[..., 0]
    return value, statistic(np.median(medians_of[..., drawn], -1)).std(-1, ddof=1)


def normal_interval(value: float, error: float, level: float = 0.05) -> Interval:
    """Return a normally distributed estimate and its interval."""
    from scipy import stats

    half = stats.norm.isf(level / 2) * error
    return float(value), float(value - half), float(value + half)
