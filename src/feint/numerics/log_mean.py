"""The mean of numbers that are given by their logarithms."""

import math
from collections.abc import Sequence

import numpy as np

from feint._types import FloatArray


def log_mean(logs: FloatArray | Sequence[float]) -> FloatArray:
    """Return the log of the mean over the first axis of numbers whose logarithms are given.

    >>> print(f"{math.exp(log_mean([math.log(2.0), math.log(4.0)])):.6f}")
    3.000000
    """
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - math.log(len(logs)))
