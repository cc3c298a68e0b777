"""Intervals that hold whatever the law."""

import math

import numpy as np
import numpy.typing as npt


def median_interval(times: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """The median and its 95 % interval between two order statistics, exact for any law; NaN is a time that never came.

    The interval is (x_(k), x_(n + 1 − k)) with the largest k for which P(Bin(n, ½) < k) ≤ 2.5 %.
    """
    from scipy import stats

    ordered = np.sort(np.where(np.isnan(times), math.inf, times))
    n = ordered.size
    k = int(stats.binom.ppf(0.025, n, 0.5))
    low, high = (ordered[k - 1], ordered[n - k]) if k else (-math.inf, math.inf)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2), float(low), float(high)
