"""What the paper states, what was measured, and whether it holds: one row of the claims table."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

FloatArray = npt.NDArray[np.float64]

LEVEL = 1e-3  # chance of calling a true claim false, a claim


@dataclass(frozen=True)
class Claim:
    """A claim and its test.

    `low` and `high` bound the measured value with 95 % confidence; `level` is the chance that the test rejects the
    claim although it is true (0 where nothing is random).
    """

    name: str
    stated: str
    quantity: str
    measured: float
    low: float
    high: float
    holds: bool
    level: float = LEVEL

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def mean_interval(values: FloatArray) -> tuple[float, float, float]:
    """The mean over replications and its 95 % interval (Student's t)."""
    values = np.asarray(values, dtype=float)
    half = stats.t.ppf(0.975, values.size - 1) * values.std(ddof=1) / math.sqrt(values.size)
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def not_below(values: FloatArray, bound: float, tests: int = 1) -> bool:
    """False if the mean is significantly below the bound: a one-sided t test at LEVEL/tests."""
    values = np.asarray(values, dtype=float)
    spread = values.std(ddof=1)
    if spread == 0.0:
        return bool(values.mean() >= bound)
    return bool(stats.ttest_1samp(values, bound, alternative="less").pvalue > LEVEL / tests)


def not_above(values: FloatArray, bound: float, tests: int = 1) -> bool:
    """False if the mean is significantly above the bound."""
    return not_below(-np.asarray(values), -bound, tests)


def within(values: FloatArray, low: float, high: float, tests: int = 1) -> bool:
    """False if the mean is significantly below `low` or above `high`."""
    return not_below(values, low, 2 * tests) and not_above(values, high, 2 * tests)
