r"""Is some arm being boosted? A bet on which one, and on how much.

For each budget ε of a grid and each arm b, the expert (b, ε) expects the boost of Definition 1, which for the pull A
has the likelihood ratio

    q^{b,ε}(A)/π(A) = q*(π_b)/π_b  if A = b,   else  (1 − q*(π_b))/(1 − π_b).

Experts share their weights as in `fixed_share`. Whatever number q the boost returns, q/π_b and (1 − q)/(1 − π_b)
average to 1 under π, so its rounding cannot make the test invalid. 1 − π_b is −expm1(log π_b), which keeps its digits
where π_b is near 1; the first ratio leaves float64's range where π_b is below 1e-308, so it enters as a logarithm.
"""

import math

import numpy as np
import numpy.typing as npt

from feint.evidence.fixed_share import REFUTED, SHARE, Experts, FixedShare, settle
from feint.numerics._jit import kernel, part
from feint.numerics._validate import FloatArray, IntArray, as_floats
from feint.numerics.boost_kernel import boost_scalar

EPSILONS = (0.001, 0.005, 0.03, 0.2, 1.0)  # a factor 2.5 beside the truth costs a few per cent of the power
_SMALLEST = 1e-12  # below it, 1 − π_b of an arm that is nearly sure would need digits that log π does not have


@part
def bet(experts: Experts, log_pi: FloatArray, arm: int) -> float:
    """Test one pull; `log_pi` (K,) was claimed before it. Returns log E."""
    n_sizes, n_arms = experts.weights.shape
    p = math.exp(log_pi[arm])
    for j in range(n_sizes):
        # The largest of the ratios; all others are taken relative to it.
        experts.gains[j] = math.log(boost_scalar(p, log_pi[arm], experts.sizes[j], True)) - log_pi[arm]
        experts.totals[j] = experts.weights[j, arm]
        experts.alone[j, arm] += experts.gains[j]
    for b in range(n_arms):
        if b == arm:
            continue
        p = math.exp(log_pi[b])
        rest = -math.expm1(log_pi[b])
        for j in range(n_sizes):
            q = boost_scalar(p, log_pi[b], experts.sizes[j], True)
            # Where b is all but sure, q = 1 and the rest may have been rounded to 0.
            ratio = (1.0 - q) / rest if q < 1.0 else 0.0
            experts.alone[j, b] += math.log(ratio) if ratio > 0.0 else REFUTED
            experts.weights[j, b] *= ratio * math.exp(-experts.gains[j])
            experts.totals[j] += experts.weights[j, b]
    return settle(experts)


@kernel
def _bet_rows(experts: Experts, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> None:
    for i in range(arms.size):
        log_e[i] = bet(experts, log_pi[i], arms[i])


class BoostMixture(FixedShare):
    """The observer's test: is some arm being boosted, and how much?

    Parameters
    ----------
    epsilons
        Grid of KL budgets a step.
    share
        η of `fixed_share`: the faster a deceiver changes arms, the larger.

    >>> test = BoostMixture(2)
    >>> rare = np.log([0.99, 0.01])
    >>> [round(test.update(1, rare), 2) for _ in range(3)]
    [1.0, 3.99, 7.44]
    """

    def __init__(self, n_arms: int, *, epsilons: npt.ArrayLike = EPSILONS, share: float = SHARE) -> None:
        grid = as_floats(epsilons, "epsilons")
        if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= _SMALLEST)).all():
            raise ValueError(f"epsilons is {epsilons!r}; give a list of KL budgets, finite and 1e-12 or more.")
        if np.unique(grid).size != grid.size:
            raise ValueError(f"epsilons is {epsilons!r}; name every budget once.")
        super().__init__(n_arms, np.array(grid), share)
        self.epsilons = [float(epsilon) for epsilon in grid]

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "epsilons", "share")

    def _extend(self, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> None:
        _bet_rows(self.experts, arms, log_pi, log_e)
