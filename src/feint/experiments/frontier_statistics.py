"""The statistics of `frontier`: medians of times that may never come, and the power of the best test there is."""

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from feint.experiments.claims import LEVEL, FloatArray

_RESAMPLES = 1000


def share_interval(successes: int, trials: int) -> tuple[float, float, float]:
    """A share and its 95 % interval (Clopper and Pearson)."""
    found = stats.binomtest(successes, trials).proportion_ci(0.95)
    return successes / trials, float(found.low), float(found.high)


def share_not_above(successes: int, trials: int, bound: float, tests: int) -> bool:
    """False if the share is significantly above the bound: the exact binomial test at LEVEL/tests."""
    return bool(stats.binomtest(successes, trials, min(1.0, bound), alternative="greater").pvalue > LEVEL / tests)


def median_not_below(times: FloatArray, bound: float, tests: int) -> bool:
    """False if the median is significantly below the bound: the sign test at LEVEL/tests."""
    return share_not_above(int((times < bound).sum()), times.size, 0.5, tests)


def median_not_above(times: FloatArray, bound: float, tests: int) -> bool:
    """False if the median is significantly above the bound; a time that never came is above every bound."""
    return share_not_above(times.size - int((times <= bound).sum()), times.size, 0.5, tests)


def bootstrap(statistic: Callable[[FloatArray], FloatArray], medians_of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A statistic of medians over runs, (..., run) -> (...), and its standard error.

    Whole runs are drawn, for those of different points may share their seeds. `statistic` takes medians (..., draw).
    """
    runs = medians_of.shape[-1]
    drawn = np.random.default_rng(0).integers(runs, size=(_RESAMPLES, runs))
    value = statistic(np.median(medians_of, -1)[..., None])[..., 0]
    return value, statistic(np.median(medians_of[..., drawn], -1)).std(-1, ddof=1)


def normal_within(value: float, error: float, low: float, high: float, tests: int = 1) -> bool:
    """False if a normal estimate is significantly below `low` or above `high`."""
    margin = stats.norm.isf(LEVEL / (2 * tests)) * error
    return bool(low - margin <= value <= high + margin)


def normal_interval(value: float, error: float) -> tuple[float, float, float]:
    """A normal estimate and its 95 % interval."""
    half = stats.norm.isf(0.025) * error
    return float(value), float(value - half), float(value + half)


def neyman_pearson(log_ratios: FloatArray, alpha: float) -> FloatArray:
    r"""Values, one a run, whose mean is the power of the best test of size α, from log(dQ/dP) of runs under Q.

    .. math:: \text{power} = \min_c\; \alpha e^c + E_Q\,(1 - e^{c - \log dQ/dP})^+

    The minimum is at the c for which the test "log ratio ≥ c" has size E_Q[e^{−log ratio}; log ratio ≥ c] = α, the
    null law by importance weighting, and is the share of runs above c, with the boundary drawn at random where the
    size would jump over α. The derivative in c vanishes there, so that the error in c does not count to first order
    and the values can be treated as a sample; and a minimum over c is low on average, so a power significantly above
    a bound is so all the more.
    """
    ordered = np.sort(log_ratios)[::-1]
    sizes = np.cumsum(np.exp(-ordered)) / ordered.size
    reached = int(np.searchsorted(sizes, alpha))
    if reached == ordered.size:  # every run together has a size below α: reject always
        return np.ones(ordered.size)
    c = ordered[reached]
    return np.asarray(alpha * math.exp(c) + np.maximum(0.0, -np.expm1(c - log_ratios)))
