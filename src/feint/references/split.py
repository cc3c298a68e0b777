"""A split test: every step has the same probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.families.base import Belief
from feint.numerics._jit import inlined, parts
from feint.numerics._validate import SUM_TOLERANCE, as_floats
from feint.numerics.best_arm_rows import complete_logs


@inlined
def _expect(settings: SplitKernel, belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    for a in range(pi.size):
        log_pi[a] = math.log(settings.weights[a])
    complete_logs(log_pi, pi)


@parts(own_samples=False, follows_posterior=False, expect=_expect)
class SplitKernel(NamedTuple):
    """`Split` for kernels."""

    weights: FloatArray


@dataclass(frozen=True)
class Split:
    """A reference that pulls arm a with probability `weights[a]` at every step; without weights, with 1/K.

    Parameters
    ----------
    weights
        (K,) numbers above 0 that sum to 1; None for 1/K each.

    Examples
    --------
    >>> import feint
    >>> report = feint.audit([0, 1, 1, 0, 1, 0], n_arms=2, reference=feint.Split([0.5, 0.5]), initial_round=False)
    >>> report.verdict, report.tested
    ('no evidence against', 6)
    """

    name: ClassVar[str] = "split"
    aliases: ClassVar[tuple[str, ...]] = ("uniform",)
    weights: tuple[float, ...] | None = None
    ignores_rewards: ClassVar[bool] = True
    is_constant: ClassVar[bool] = True

    def __init__(self, weights: npt.ArrayLike | None = None) -> None:
        object.__setattr__(self, "weights", None)
        if weights is None:
            return
        array = as_floats(weights, "weights")
        if array.ndim != 1 or not (array > 0).all() or abs(array.sum() - 1) > SUM_TOLERANCE:
            raise ValueError(f"weights is {weights!r}; give one number above 0 per arm, summing to 1.")
        # Kept as given: dividing by their sum, 1 up to rounding, would change them with every saving and loading.
        object.__setattr__(self, "weights", tuple(float(w) for w in array))

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0: it needs no pulls."""
        return 0

    def among(self, arms: Sequence[int]) -> Split:
        """Return the reference of these arms alone: their weights, divided by their sum."""
        if self.weights is None:
            return self
        weights = np.array(self.weights)[list(arms)]
        return Split(weights / weights.sum())

    def kernel(self, family: Any, n_arms: int) -> SplitKernel:
        """Return the settings for kernels."""
        if self.weights is None:
            return SplitKernel(np.full(n_arms, 1.0 / n_arms))
        if len(self.weights) != n_arms:
            raise ValueError(f"Split has {len(self.weights)} weights for {n_arms} arms; give one per arm.")
        weights = np.array(self.weights)
        return SplitKernel(weights / weights.sum())

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        if self.weights is None:
            return "uniformly random pulls"
        return f"a split of {', '.join(f'{weight:.4g}' for weight in self.weights)}"
