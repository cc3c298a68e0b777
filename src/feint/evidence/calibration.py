r"""Is each arm pulled as often as claimed? A test by arm without a model of the deceiver, and a confidence sequence.

**Test.** For arm a and a tilt λ of its log-odds, X = 1{A = a} and

    E ← E·exp(λX)/(1 + π_a·(e^λ − 1)),

the likelihood ratio of a coin whose odds are e^λ times those claimed, with tilts of both signs: it notices an arm that
is pulled too often or too rarely, for whatever reason. Half of E is their mean over arms and tilts, the other half the
mean of the supermartingales below at p = π. So an interval of the confidence sequence at level α/2 that leaves out 0
means E ≥ 1/α.

**Confidence sequence.** Let p_t(a) be the agent's true probabilities, D_t = Σ (X − π_a) the excess of observed over
expected pulls, and V_t = Σ (X − π_a)². With X − π_a ≥ −1 and 0 ≤ λ < 1, exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ for
ψ(λ) = −log(1 − λ) − λ (Fan, Grama & Liu 2015), so exp(λ·Σ(X − p) − ψ(λ)·V) is a supermartingale whatever p is
(Howard, Ramdas, McAuliffe & Sekhon 2021, Theorem 4), and so is it for the other sign. With a mixture over λ_k,

    |Σ (X − p)| ≤ u(V_t)  for all t,        u(V): mean_k exp(λ_k·u − ψ(λ_k)·V) = 2K/α,

for all arms at once with probability 1 − α. So Σ (p_t(a) − π_t(a)), by how much the agent really departs from its
claim, lies in D_t ± u(V_t) at all times.
"""

import math
from typing import Any

import numpy as np

from feint.evidence.base import EProcess
from feint.numerics._jit import kernel
from feint.numerics._validate import FloatArray, IntArray, check_level

_TILTS = np.array([sign * size for size in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0) for sign in (-1.0, 1.0)])
_EXPM1_TILTS = np.expm1(_TILTS)
_MIXED = np.geomspace(0.9, 1e-4, 16)  # λ_k: optimal for V from 10 to 10⁹
_PSI = -np.log1p(-_MIXED) - _MIXED


@kernel
def _tilt_rows(
    arms: IntArray,
    log_pi: FloatArray,
    logs: FloatArray,
    sums: FloatArray,
    log_e: FloatArray,
) -> None:
    n_arms, n_tilts, n_mixed = logs.shape[0], _TILTS.size, _MIXED.size
    for i in range(arms.size):
        for a in range(n_arms):
            p = math.exp(log_pi[i, a])
            pulled = 1.0 if a == arms[i] else 0.0
            for k in range(n_tilts):
                logs[a, k] += _TILTS[k] * pulled - math.log1p(p * _EXPM1_TILTS[k])
            # Where p is near 1, 1 − p has its digits in expm1 only.
            surprise = -math.expm1(log_pi[i, a]) if a == arms[i] else -p
            sums[0, a] += pulled
            sums[1, a] += surprise
            sums[2, a] += surprise * surprise
        highest = 0.0
        for a in range(n_arms):
            for k in range(n_tilts):
                highest = max(highest, logs[a, k])
            for k in range(n_mixed):
                highest = max(highest, _MIXED[k] * abs(sums[1, a]) - _PSI[k] * sums[2, a])
        tilted, bounded = 0.0, 0.0
        for a in range(n_arms):
            for k in range(n_tilts):
                tilted += math.exp(logs[a, k] - highest)
            for k in range(n_mixed):
                start, slope = -_PSI[k] * sums[2, a] - highest, _MIXED[k] * sums[1, a]
                bounded += math.exp(start + slope) + math.exp(start - slope)
        log_e[i] = highest + math.log(0.5 * (tilted / n_tilts + bounded / (2 * n_mixed)) / n_arms)


class Calibration(EProcess):
    """Is each arm pulled as often as claimed?

    >>> test = Calibration(2)
    >>> for _ in range(40):
    ...     _ = test.update(1, np.log([0.9, 0.1]))
    >>> test.excess.round(9)
    array([-36.,  36.])
    >>> low, high = test.confidence_sequence(0.05)
    >>> bool(low[1] > 0)
    True
    """

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self._logs = np.zeros((self.n_arms, _TILTS.size))
        self._sums = np.zeros((3, self.n_arms))  # observed, observed − expected, V

    @property
    def observed(self) -> FloatArray:
        """Tested pulls of each arm."""
        return self._sums[0].copy()

    @property
    def excess(self) -> FloatArray:
        """D, observed less expected pulls of each arm."""
        return self._sums[1].copy()

    def log_e_values(self) -> FloatArray:
        """log E of each arm alone."""
        from scipy.special import logsumexp

        tilted = logsumexp(self._logs, axis=1) - math.log(_TILTS.size)
        slopes = np.concatenate([_MIXED, -_MIXED])
        bounded = logsumexp(np.outer(self._sums[1], slopes) - np.outer(self._sums[2], np.tile(_PSI, 2)), axis=1)
        return np.asarray(np.logaddexp(tilted, bounded - math.log(slopes.size)) - math.log(2))

    def confidence_sequence(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """(low, high) for Σ (p_t(a) − π_t(a)): all arms at all times with probability 1 − α."""
        log_goal = math.log(2 * self.n_arms) - math.log(check_level(alpha, "alpha"))
        radius = np.array([_radius(variance, log_goal) for variance in self._sums[2]])
        return self._sums[1] - radius, self._sums[1] + radius

    def _arrays(self) -> dict[str, Any]:
        return {"logs": self._logs, "sums": self._sums}

    def _extend(self, arms: IntArray, log_pi: FloatArray, log_e: FloatArray) -> None:
        _tilt_rows(arms, log_pi, self._logs, self._sums, log_e)


def _radius(variance: float, log_goal: float) -> float:
    """u(V) at which the mixture reaches exp(log_goal)."""
    from scipy.optimize import brentq
    from scipy.special import logsumexp

    goal = math.log(_MIXED.size) + log_goal

    def above(u: float) -> float:
        return float(logsumexp(_MIXED * u - _PSI * variance)) - goal

    # One λ alone reaches the goal no earlier than all together.
    highest = float(((goal + _PSI * variance) / _MIXED).min())
    return float(brentq(above, 0.0, highest, xtol=1e-10 * highest))
