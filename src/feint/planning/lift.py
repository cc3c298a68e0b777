r"""What boosts make of a step's probabilities, for many paths at once: p_a = Σ_b w_b·q^b(a) of Definition 1.

q*(π; ε) comes from a table, to about 1e-3. Arms are along the first axis, so that the loops over paths vectorise.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint.budgets import checked_at
from feint.evidence.boost_mixture import nearly_boosted
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import FloatArray
from feint.numerics.normal import exp_nonpositive, log_positive

_CELLS, _CELLS_A_UNIT = 1024, 64.0  # of log(1 − log π) from 0 to 16
_FINEST = 0.2  # between the budgets of the table, in their logarithm
_SMALLEST = 1e-14  # budgets below are taken for 0
_CURVE = 2000  # times at which a budget of a user's own is read
_SERIES = -0.01  # above it 1 − exp(x) is a series


class Lifts(NamedTuple):
    """log q* at budgets exp(low + row/density), and at `_CELLS` of log(1 − log π)."""

    table: FloatArray
    low: float
    density: float


class Step(NamedTuple):
    """Probabilities of a step: (K, R), and `cost` (R,)."""

    share: FloatArray  # of boosts
    log_pi: FloatArray  # what is expected; where an arm is likely, its digits come from the others' sum
    rate: FloatArray  # what is done
    cost: FloatArray  # KL spent, Σ_b w_b·KL(q^b || π)


class Lift:
    """A budget over time, and q* at each of its sizes."""

    def __init__(self, budget: Any, first: int, horizon: float) -> None:
        if hasattr(budget, "kernel"):
            self.scale, self.exponent, self.last = budget.kernel()
            self._times = self._values = np.empty(0)
            ends = [self._power(float(first)), self._power(min(horizon, self.last))]
        else:
            self.last = math.inf
            self._times = np.log(np.geomspace(first, horizon, _CURVE))
            self._values = np.array([checked_at(budget, round(t)) for t in np.exp(self._times)])
            ends = [self._values.min(), self._values.max()]
        self.largest = max(ends)
        low, high = (math.log(max(_SMALLEST, end)) for end in (min(ends), self.largest))
        density, sizes = 0.0, np.array([self.largest])
        if low < high < math.inf:
            count = 2 + int((high - low) / _FINEST)
            density = (count - 1) / (high - low)
            sizes = np.exp(np.linspace(low, high, count))
        nodes = -np.expm1(np.arange(_CELLS + 1) / _CELLS_A_UNIT)
        with np.errstate(divide="ignore"):
            table = np.log(np.maximum(nearly_boosted(nodes[:, None], sizes), 1e-300)).T.copy()
        self._lifts = Lifts(table, low if density else 0.0, density)

    def _power(self, t: Any) -> Any:
        return self.scale * t**-self.exponent if self.exponent else self.scale + 0.0 * t

    def epsilon(self, t: FloatArray) -> FloatArray:
        """ε_t, of the nearest time for a budget of a user's own."""
        if self._times.size:
            place = (np.log(t) - self._times[0]) / (self._times[1] - self._times[0])
            return self._values[np.clip(np.rint(place), 0, _CURVE - 1).astype(np.int64)]
        return np.where(t <= self.last, self._power(t), 0.0)

    def step(self, epsilon: FloatArray, share: FloatArray, log_pi: FloatArray) -> Step:
        """At ε (R,), from log π (K, R), which it corrects."""
        step = Step(share, log_pi, np.empty(log_pi.shape), np.zeros(epsilon.size))
        _fill_step(self._lifts, epsilon, step, np.empty((3, *log_pi.shape)))
        return step


@kernel
def _fill_step(lifts: Lifts, epsilon: FloatArray, step: Step, scratch: FloatArray) -> None:
    pi, rest, log_q = scratch[0], scratch[1], scratch[2]
    _set_pi(step.log_pi, pi, rest)
    for a in range(pi.shape[0]):
        for i in range(epsilon.size):
            step.log_pi[a, i] = _log_complement(rest[a, i]) if pi[a, i] > 0.5 else step.log_pi[a, i]
            log_q[a, i] = log_positive(1.0 - step.log_pi[a, i]) * _CELLS_A_UNIT
    _look_up(lifts, epsilon, step.log_pi, log_q)
    _set_rate(epsilon, step, pi, rest, log_q)


@part
def _set_pi(log_pi: FloatArray, pi: FloatArray, rest: FloatArray) -> None:
    """π, and the others' sum, which has its digits where an arm is nearly sure."""
    n_arms, n_paths = pi.shape
    for a in range(n_arms):
        for i in range(n_paths):
            pi[a, i] = exp_nonpositive(log_pi[a, i])
            rest[a, i] = 0.0
    for a in range(n_arms):
        for b in range(n_arms):
            if b != a:
                for i in range(n_paths):
                    rest[a, i] += pi[b, i]


@inlined
def _log_complement(x: float) -> float:
    """log(1 − x), relatively; an x above ½ is taken for ½."""
    x = min(x, 0.5)
    left = 1.0 - x
    return log_positive(left) * x / (1.0 - left) if left < 1.0 else -x


@inlined
def _complement(x: float) -> float:
    """1 − exp(x), relatively; x ≤ 0."""
    series = -x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0)))))
    return series if x > _SERIES else 1.0 - exp_nonpositive(x)


@part
def _look_up(lifts: Lifts, epsilon: FloatArray, log_pi: FloatArray, log_q: FloatArray) -> None:
    """log q* in the place of where the table has it."""
    table, last = lifts.table, lifts.table.shape[0] - 1
    for i in range(epsilon.size):
        level = 0.0
        if last > 0:
            level = (math.log(max(epsilon[i], _SMALLEST)) - lifts.low) * lifts.density
            level = min(max(level, 0.0), last - 1e-9)
        row = int(level)
        next_row = min(row + 1, last)
        for a in range(log_pi.shape[0]):
            place = min(log_q[a, i], _CELLS - 1e-9)
            cell = int(place)
            by = place - cell
            low = table[row, cell] + by * (table[row, cell + 1] - table[row, cell])
            high = table[next_row, cell] + by * (table[next_row, cell + 1] - table[next_row, cell])
            found = max(low + (level - row) * (high - low), log_pi[a, i])
            log_q[a, i] = found if epsilon[i] > 0.0 else log_pi[a, i]


@part
def _set_rate(epsilon: FloatArray, step: Step, pi: FloatArray, rest: FloatArray, log_q: FloatArray) -> None:
    """p_a = w_a·q_a + π_a·Σ_b w_b·(1 − q_b)/(1 − π_b), b other than a; the sum's terms take the place of 1 − π_b."""
    n_arms, n_paths = pi.shape
    share, kept = step.share, rest
    for a in range(n_arms):
        for i in range(n_paths):
            kept[a, i] = share[a, i] * _complement(log_q[a, i]) / rest[a, i] if rest[a, i] > 0.0 else 0.0
            step.cost[i] += share[a, i] * min(epsilon[i], -step.log_pi[a, i])
            step.rate[a, i] = 0.0
    for a in range(n_arms):
        for b in range(n_arms):
            if b != a:
                for i in range(n_paths):
                    step.rate[a, i] += kept[b, i]
    for a in range(n_arms):
        for i in range(n_paths):
            step.rate[a, i] = share[a, i] * exp_nonpositive(log_q[a, i]) + pi[a, i] * step.rate[a, i]
