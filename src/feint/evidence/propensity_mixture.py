r"""The bet of `boost_mixture` where only the probability of the pulled arm was logged: weaker, but valid.

The boost of arm b moves probability from all arms in proportion: q^b = (1 − λ)·π + λ·e_b, with a λ that depends on
π_b. Where π_b is unknown unless b was pulled, λ cannot follow it, but a fixed one still makes a likelihood ratio

    q^b(A)/π(A) = 1 − λ + λ·1{A = b}/π(A),

which needs only π(A) and averages to 1, or to less where π_b = 0. Where true probabilities may differ from those logged
by a share w (`within`), it averages to at most 1 + λw and is divided by that. Experts (b, λ) share weights as in
`fixed_share`.

**Monte Carlo propensities.** If an agent logs X hits in n draws as X/n, then 1/π̂ is too large on average. With draws
that are fresh at each step and independent of the choice, E[(n + 1)/(X + 1)] = (1 − (1 − π)^{n+1})/π ≤ 1/π. So
(n + 1)/(X + 1) replaces 1/π, and the bet stays valid because λ does not depend on X (`shrink_propensities`).
"""

import math
from typing import ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.fixed_share import SHARE, Experts, FixedShare, experts, reopen_instant, settle_bets
from feint.numerics._jit import kernel

_MIXED_IN = np.array([0.001, 0.004, 0.016, 0.064, 0.256])  # λ


def shrink_propensities(propensities: FloatArray, draws: int) -> FloatArray:
    """Return (X + 1)/(n + 1), to be tested instead of propensities X/n from n = `draws` Monte Carlo draws, (n,)."""
    return (np.rint(propensities * draws) + 1.0) / (draws + 1.0)


@kernel
def _bet_propensities(
    experts: Experts, arms: IntArray, log_propensity: FloatArray, begins: BoolArray, log_e: FloatArray
) -> None:
    n_sizes, n_arms = experts.weights.shape
    for i in range(arms.size):
        if not begins[i]:
            reopen_instant(experts)
        for j in range(n_sizes):
            most = math.log1p(experts.sizes[j] * experts.within)
            kept = math.log1p(-experts.sizes[j])
            gained = math.log(experts.sizes[j]) - log_propensity[i]
            experts.gains[j] = max(kept, gained) + math.log1p(math.exp(-abs(kept - gained))) - most
            experts.totals[j] = experts.weights[j, arms[i]]
            experts.alone[j, arms[i]] += experts.gains[j]
            for b in range(n_arms):
                if b != arms[i]:
                    experts.alone[j, b] += kept - most
                    experts.weights[j, b] *= math.exp(kept - most - experts.gains[j])
                    experts.totals[j] += experts.weights[j, b]
        log_e[i] = settle_bets(experts, arms[i], begins[i])


class PropensityMixture(FixedShare):
    """The test for a log that has only the probability of the pulled arm: rows of `log_pi` are single numbers.

    >>> test = PropensityMixture(2)
    >>> round(test.update(1, [math.log(0.01)]), 2)
    1.19
    """

    NEEDS_ALL_ARMS: ClassVar[bool] = False

    def __init__(self, n_arms: int, *, share: float = SHARE, within: float = 0.0) -> None:
        super().__init__(n_arms, share, within)

    def _experts(self) -> Experts:
        even = np.full(_MIXED_IN.size, 1.0 / _MIXED_IN.size)
        return experts(self.n_arms, _MIXED_IN, even, np.full(self.n_arms, 1.0 / self.n_arms), self.share, self.within)

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "share", "within")

    def _extend(self, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
        _bet_propensities(self.experts, arms, log_pi, begins, log_e)
