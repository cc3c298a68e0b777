r"""The same bet where only the probability of the pulled arm was logged: weaker, but valid.

The boost of arm b moves probability from all arms in proportion: q^b = (1 − λ)·π + λ·e_b, with a λ that depends on
π_b. Where π_b is unknown unless b was pulled, λ cannot follow it, but a fixed one still makes a likelihood ratio

    q^b(A)/π(A) = 1 − λ + λ·1{A = b}/π(A),

which needs π(A) alone and averages to 1 (to less where π_b = 0). Experts (b, λ) share weights as in `fixed_share`.
"""

import math
from typing import ClassVar

import numpy as np

from feint.evidence.fixed_share import SHARE, Experts, FixedShare, settle
from feint.numerics._jit import kernel
from feint.numerics._validate import FloatArray, IntArray

_MIXED_IN = np.array([0.001, 0.004, 0.016, 0.064, 0.256])  # λ


@kernel
def _bet_rows(experts: Experts, arms: IntArray, log_propensity: FloatArray, log_e: FloatArray) -> None:
    n_sizes, n_arms = experts.weights.shape
    for i in range(arms.size):
        for j in range(n_sizes):
            kept = math.log1p(-experts.sizes[j])
            gained = math.log(experts.sizes[j]) - log_propensity[i]
            experts.gains[j] = max(kept, gained) + math.log1p(math.exp(-abs(kept - gained)))
            experts.totals[j] = experts.weights[j, arms[i]]
            experts.alone[j, arms[i]] += experts.gains[j]
            for b in range(n_arms):
                if b != arms[i]:
                    experts.alone[j, b] += kept
                    experts.weights[j, b] *= math.exp(kept - experts.gains[j])
                    experts.totals[j] += experts.weights[j, b]
        log_e[i] = settle(experts)


class PropensityMixture(FixedShare):
    """The test for a log with the probability of the pulled arm only: rows of `log_pi` are single numbers.

    >>> test = PropensityMixture(2)
    >>> round(test.update(1, [math.log(0.01)]), 2)
    0.8
    """

    NEEDS_ALL_ARMS: ClassVar[bool] = False

    def __init__(self, n_arms: int, *, share: float = SHARE) -> None:
        super().__init__(n_arms, _MIXED_IN, share)

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "share")

    def _extend(self, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> None:
        _bet_rows(self.experts, arms, log_pi, log_e)
