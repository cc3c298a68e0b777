"""Confidence intervals (value, low, high) that miss the truth with probability at most `level`.

All of them hold for any law and any number of values: they come from order statistics, from counts, or from bounds on
values. Independent values that differ in law are allowed: counts of such values vary less than a binomial (Hoeffding
1956), so that medians of pooled values and shares keep their levels.
"""

import math

import numpy as np

from feint._types import FloatArray

Interval = tuple[float, float, float]


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
    """Return the mean of values from 0 to 1 and its interval, valid for any law: the intersection of two intervals.

    Each of them misses with probability at most `level`/2, so that both hold together. Student's t would give a shorter
    interval, but it is wrong where most values are equal.

    - Hoeffding (1963): with at most that probability, n·KL(sample mean ‖ mean), the KL of coins, exceeds log(4/level).
      This interval is the shorter one for few values.
    - Empirical Bernstein (Maurer and Pontil 2009, theorem 4): with at most that probability, the mean is off by more
      than √(2V·log(8/level)/n) + 7·log(8/level)/(3(n − 1)), with V the sample variance. This interval is the shorter
      one for many values that differ less than coins.
    """
    from scipy.optimize import brentq
    from scipy.special import rel_entr

    mean, n = float(np.mean(values)), np.size(values)
    limit = math.log(4 / level) / n

    def excess(other: float) -> float:
        return float(rel_entr(mean, other) + rel_entr(1 - mean, 1 - other)) - limit

    tiny = 1e-300
    low = 0.0 if mean <= 0 or excess(tiny) <= 0 else brentq(excess, tiny, mean, xtol=1e-14)
    high = 1.0 if mean >= 1 or excess(1 - 1e-16) <= 0 else brentq(excess, mean, 1 - 1e-16, xtol=1e-14)
    if n > 1:
        log = math.log(8 / level)
        half = math.sqrt(2 * float(np.var(values, ddof=1)) * log / n) + 7 * log / (3 * (n - 1))
        low, high = max(low, mean - half), min(high, mean + half)
    return mean, float(low), float(high)


def median_ratio_interval(above: FloatArray, below: FloatArray, level: float = 0.05) -> Interval:
    """Return the ratio of the medians of two samples of positive values and its interval, valid for any law.

    Each median has an interval at `level`/2, so that both hold together, whether or not the samples are independent.
    """
    (value, low, high), (other, other_low, other_high) = (median_interval(x, level / 2) for x in (above, below))
    if other_low <= 0:  # too few values for an interval
        return value / other, 0.0, math.inf
    return value / other, max(0.0, low) / other_high, high / other_low
