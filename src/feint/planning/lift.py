"""q*(π; ε) for many π at once, from a table: what a leap needs of Definition 1, to about 1e-3 of q."""

import math
from typing import Any

import numpy as np

from feint.budgets import checked_at
from feint.evidence.boost_mixture import nearly_boosted
from feint.numerics._validate import FloatArray

_CELLS, _CELLS_A_UNIT = 1024, 64.0  # of log(1 − log π) from 0 to 16
_FINEST = 0.2  # between the budgets of the table, in their logarithm
_SMALLEST = 1e-14  # budgets below are taken for 0
_CURVE = 2000  # times at which a budget of a user's own is read


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
        self._low = low
        self._density = 0.0
        sizes = np.array([self.largest])
        if low < high < math.inf:
            count = 2 + int((high - low) / _FINEST)
            self._density = (count - 1) / (high - low)
            sizes = np.exp(np.linspace(low, high, count))
        nodes = -np.expm1(np.arange(_CELLS + 1) / _CELLS_A_UNIT)
        with np.errstate(divide="ignore"):
            self._table = np.log(np.maximum(nearly_boosted(nodes[:, None], sizes), 1e-300)).T.copy()

    def _power(self, t: Any) -> Any:
        return self.scale * t**-self.exponent if self.exponent else self.scale + 0.0 * t

    def epsilon(self, t: FloatArray) -> FloatArray:
        """ε_t, of the nearest time for a budget of a user's own."""
        if self._times.size:
            place = (np.log(t) - self._times[0]) / (self._times[1] - self._times[0])
            return self._values[np.clip(np.rint(place), 0, _CURVE - 1).astype(np.int64)]
        return np.where(t <= self.last, self._power(t), 0.0)

    def log_boosted(self, log_pi: FloatArray, epsilon: FloatArray) -> FloatArray:
        """log q*, (K, R) at ε (R,)."""
        place = np.minimum(np.log1p(-log_pi) * _CELLS_A_UNIT, _CELLS - 1e-9)
        cell = place.astype(np.int64)
        part: FloatArray = place - cell
        if not self._density:
            found = self._between(0, cell, part)
        else:
            level = (np.log(np.maximum(epsilon, _SMALLEST)) - self._low) * self._density
            level = np.clip(level, 0.0, self._table.shape[0] - 1.0 - 1e-9)
            row = level.astype(np.int64)
            low, high = self._between(row, cell, part), self._between(row + 1, cell, part)
            found = low + (level - row) * (high - low)
        found = np.maximum(found, log_pi)
        return np.where(epsilon > 0.0, found, log_pi) if not epsilon.all() else found

    def _between(self, row: Any, cell: Any, part: FloatArray) -> FloatArray:
        here = self._table[row, cell]
        return np.asarray(here + part * (self._table[row, cell + 1] - here))
