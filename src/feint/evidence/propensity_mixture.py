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

from typing import ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.fixed_share import SHARE, Experts, FixedShare, experts

_MIXED_IN = np.array([0.001, 0.004, 0.016, 0.064, 0.256])  # λ


def shrink_propensities(propensities: FloatArray, draws: int) -> FloatArray:
    """Return (X + 1)/(n + 1), to be tested instead of propensities X/n from n = `draws` Monte Carlo draws, (n,)."""
    return (np.rint(propensities * draws) + 1.0) / (draws + 1.0)


class PropensityMixture(FixedShare):
    """The test for a log that has only the probability of the pulled arm: rows of `log_pi` are single numbers.

    >>> test = PropensityMixture(2)
    >>> round(test.update(1, [np.log(0.01)]), 2)
    1.19
    """

    NEEDS_ALL_ARMS: ClassVar[bool] = False

    def __init__(self, n_arms: int, *, share: float = SHARE, within: float = 0.0) -> None:
        super().__init__(n_arms, share, within)

    def _experts(self) -> Experts:
        even = np.full(_MIXED_IN.size, 1.0 / _MIXED_IN.size)
        return experts(self.n_arms, _MIXED_IN, even, np.full(self.n_arms, 1.0 / self.n_arms), self.share)

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "share", "within")

    def _ratios(self, arms: IntArray, claimed: FloatArray, begins: BoolArray) -> tuple[FloatArray, FloatArray]:
        self._pulls_before(arms, begins)
        sizes, rows = self.experts.sizes, np.arange(arms.size)
        most = np.log1p(sizes * self.within)
        gains = np.logaddexp(np.log1p(-sizes), np.log(sizes) - claimed[:, np.newaxis]) - most
        missed = np.log1p(-sizes) - most
        alone = np.tile(missed[:, np.newaxis], (arms.size, 1, self.n_arms))
        alone[rows, :, arms] = gains
        self._add_alone(alone)
        ratios = np.repeat(np.exp(missed - gains)[:, :, np.newaxis], self.n_arms, axis=2)
        ratios[rows, :, arms] = 1.0
        return ratios, gains
