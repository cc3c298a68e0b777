"""A split test: the same shares at every step."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from feint.families.base import Belief
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import FloatArray, as_floats
from feint.numerics.best_arm_rows import complete_logs


@inlined
def _expect(settings: "SplitKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    for a in range(pi.size):
        log_pi[a] = math.log(settings.weights[a])
    complete_logs(log_pi, pi)


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class SplitKernel(NamedTuple):
    """`Split` for kernels."""

    weights: FloatArray


@dataclass(frozen=True)
class Split:
    """Pull arm a with probability `weights[a]`, whatever happens.

    >>> Split([0.5, 0.5]).weights
    (0.5, 0.5)
    """

    weights: tuple[float, ...]

    def __init__(self, weights: npt.ArrayLike) -> None:
        array = as_floats(weights, "weights")
        if array.ndim != 1 or not (array > 0).all() or abs(array.sum() - 1) > 1e-9:
            raise ValueError(f"weights is {weights!r}; give one number above 0 for every arm, summing to 1.")
        object.__setattr__(self, "weights", tuple(float(w) for w in array / array.sum()))

    def speaks_at_once(self, family: Any) -> bool:
        """It needs no pulls."""
        return True

    def kernel(self, family: Any, n_arms: int) -> SplitKernel:
        """Its settings."""
        if len(self.weights) != n_arms:
            raise ValueError(f"Split has {len(self.weights)} weights for {n_arms} arms; give one for each.")
        return SplitKernel(np.array(self.weights))

    def describe(self, family: Any) -> str:
        """In words."""
        return f"a split of {', '.join(f'{weight:.4g}' for weight in self.weights)}"
