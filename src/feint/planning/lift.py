"""The probabilities of a step with boosts, for many paths at once: p_a = Σ_b w_b·q^b(a) of Definition 1. q* comes from
a table and is accurate to about 1e-3.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.budgets import checked_at, power_of
from feint.evidence.boost_mixture import boosted_table, place_of
from feint.numerics._jit import inlined, kernel
from feint.numerics.normal import exp_and_complement

_FINEST = 0.2  # the distance between budgets of the table, in their logarithm
_SMALLEST = 1e-14  # smaller budgets count as 0
_CURVE = 2000  # times at which a user's own budget is evaluated


class Lifts(NamedTuple):
    """A table of log q* at budgets exp(low + row/density) and at the nodes of `boosted_table`."""

    table: FloatArray
    low: float
    density: float


class StepProbabilities(NamedTuple):
    """The probabilities of a step, (K, R)."""

    share: FloatArray  # of boosts
    log_pi: FloatArray  # the reference; where an arm is likely, its digits come from the sum of the others
    rate: FloatArray  # the policy
    cost: FloatArray  # KL spent per step on the arm's boosts, w_b·KL(q^b || π)


class Lift:
    """A budget over time, with q* at each of its values."""

    def __init__(self, budget: Any, first: int, horizon: float) -> None:
        if (power := power_of(budget)) is not None:
            self.scale, self.exponent, self.last = power
            self._times = self._values = np.empty(0)
            ends = [self._power(float(first)), self._power(min(horizon, self.last))]
        else:
            self.last = math.inf
            self._times = np.log(np.geomspace(first, horizon, _CURVE))
            self._values = np.array([checked_at(budget, round(t)) for t in np.exp(self._times)])
            ends = [self._values.min(), self._values.max()]
        low, high = (math.log(max(_SMALLEST, end)) for end in (min(ends), max(ends)))
        density, sizes = 0.0, np.array([max(ends)])
        if low < high < math.inf:
            count = 2 + int((high - low) / _FINEST)
            density = (count - 1) / (high - low)
            sizes = np.exp(np.linspace(low, high, count))
        self._lifts = Lifts(np.log(np.maximum(boosted_table(sizes), 1e-300)).T.copy(), low, density)

    def _power(self, t: Any) -> Any:
        return self.scale * t**-self.exponent if self.exponent else self.scale + 0.0 * t

    def epsilon(self, t: FloatArray) -> FloatArray:
        """Return ε_t; for a user's own budget, at the nearest time of the table."""
        if self._times.size:
            place = (np.log(t) - self._times[0]) / (self._times[1] - self._times[0])
            return self._values[np.clip(np.rint(place), 0, _CURVE - 1).astype(np.int64)]
        return np.where(t <= self.last, self._power(t), 0.0)

    def step(self, epsilon: FloatArray, share: FloatArray, log_pi: FloatArray) -> StepProbabilities:
        """Return the probabilities of a step with budgets ε (R,), from log π (K, R), which is corrected."""
        step = StepProbabilities(share, log_pi, *np.empty((2, *log_pi.shape)))
        _fill_step(self._lifts, epsilon, step, np.empty((3, len(log_pi))))
        return step


@kernel
def _fill_step(lifts: Lifts, epsilon: FloatArray, step: StepProbabilities, scratch: FloatArray) -> None:
    """Fill in p_a = w_a·q_a + π_a·Σ_b w_b·(1 − q_b)/(1 − π_b), b other than a. Where an arm is nearly sure, sums of
    the others are accurate and differences are not.
    """
    n_arms = step.log_pi.shape[0]
    pi, q, kept = scratch[0], scratch[1], scratch[2]
    for i in range(epsilon.size):
        level = _table_row(lifts, epsilon[i])
        for a in range(n_arms):
            pi[a] = math.exp(step.log_pi[a, i])
        for a in range(n_arms):
            rest = 0.0
            for b in range(n_arms):
                if b != a:
                    rest += pi[b]
            if pi[a] > 0.5:
                step.log_pi[a, i] = math.log1p(-min(rest, 0.5))
            log_q = _log_boosted(lifts, level, step.log_pi[a, i]) if epsilon[i] > 0.0 else step.log_pi[a, i]
            q[a], others = exp_and_complement(log_q)
            kept[a] = step.share[a, i] * others / rest if rest > 0.0 else 0.0
            step.cost[a, i] = step.share[a, i] * min(epsilon[i], -step.log_pi[a, i])
        for a in range(n_arms):
            rest = 0.0
            for b in range(n_arms):
                if b != a:
                    rest += kept[b]
            step.rate[a, i] = step.share[a, i] * q[a] + pi[a] * rest


@inlined
def _table_row(lifts: Lifts, epsilon: float) -> float:
    """Return the row of the table for this budget; the fraction says how much of the next row to mix in."""
    last = lifts.table.shape[0] - 1
    if last == 0:
        return 0.0
    return min(max((math.log(max(epsilon, _SMALLEST)) - lifts.low) * lifts.density, 0.0), last - 1e-9)


@inlined
def _log_boosted(lifts: Lifts, level: float, log_pi: float) -> float:
    """Return log q*, which is never below log π."""
    place = place_of(log_pi)
    row, cell = int(level), int(place)
    next_row = min(row + 1, lifts.table.shape[0] - 1)
    low = _interpolate(lifts.table[row], cell, place - cell)
    high = _interpolate(lifts.table[next_row], cell, place - cell)
    return max(low + (level - row) * (high - low), log_pi)


@inlined
def _interpolate(values: FloatArray, cell: int, part: float) -> float:
    return values[cell] + part * (values[cell + 1] - values[cell])
