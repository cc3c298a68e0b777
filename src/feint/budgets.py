"""KL budgets over time: how much divergence each step may spend.

The t-th pull (t = 1, 2, …, the initial round included) may spend ε_t. The initial round is outside the observer's test
and spends nothing. A budget is anything with `at(t)` -> ε_t, a number from 0 to ∞. A run asks its copy of a user's own
budget for t = 1, 2, 3, … in this order, so that it may keep state; plans and the theory ask for the times they need.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from feint.numerics._jit import by_type, inlined, parts
from feint.numerics._validate import FloatArray, as_number, is_whole
from feint.own_parts import call, fresh

_DIRECT = 10_000  # terms of a power sum added one by one
_PIECES_KEPT = 64  # tables of own budgets, for all replications together


@by_type
def epsilon_at(budget: Any, t: int) -> float:
    """ε_t, for kernels."""
    raise NotImplementedError


@inlined
def _power_at(settings: "PowerKernel", t: int) -> float:
    if t > settings.last:
        return 0.0
    if settings.exponent == 0.0:
        return settings.scale
    return settings.scale * float(t) ** -settings.exponent


@parts(epsilon_at=_power_at)
class PowerKernel(NamedTuple):
    """scale·t^(−exponent) up to t = last: every budget of this file."""

    scale: float
    exponent: float
    last: float


@inlined
def _table_at(settings: "TableKernel", t: int) -> float:
    return settings.values[t - settings.first]


@parts(epsilon_at=_table_at)
class TableKernel(NamedTuple):
    """ε of some pulls in a row, for budgets of a user's own."""

    first: int
    values: FloatArray


class Budget(Protocol):
    """How much each pull may spend; see the module's docstring."""

    def at(self, t: int, /) -> float: ...


Epsilon = float | Budget  # what every `epsilon` takes


@dataclass(frozen=True)
class PowerLaw:
    """ε_t = scale·t^(−exponent), a budget that falls over time, or not (exponent 0).

    Parameters
    ----------
    scale
        ε_1, 0 or more.
    exponent
        How fast it falls, 0 or more.

    Examples
    --------
    >>> PowerLaw(scale=1.0, exponent=0.5).at(100)
    0.1
    """

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        for name in ("scale", "exponent"):
            what = f"{name} of a power law must be a finite number, 0 or more"
            number = as_number(getattr(self, name), what)
            if not 0 <= number < math.inf:
                raise ValueError(f"{what}; got {number}.")
            object.__setattr__(self, name, number)

    def at(self, t: int) -> float:
        """ε_t."""
        return self.scale * float(_pull(t)) ** -self.exponent

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        if horizon <= n_arms:
            return 0.0
        up_to_here, before = power_sum(self.exponent, np.array([horizon, n_arms], dtype=float))
        return float(self.scale * (up_to_here - before))

    def kernel(self) -> PowerKernel:
        """For kernels."""
        return PowerKernel(self.scale, self.exponent, math.inf)


@dataclass(frozen=True)
class TotalBudget:
    """`total` spread evenly over the first `horizon` pulls, and nothing after them.

    The K pulls of the initial round leave their share unspent, so total·(1 − K/horizon) is spent in all.

    Parameters
    ----------
    total
        Nats in all, 0 or more.
    horizon
        Over how many pulls, 1 or more.

    Examples
    --------
    >>> TotalBudget(total=3.0, horizon=1000).at(1)
    0.003
    """

    total: float
    horizon: int

    def __post_init__(self) -> None:
        what = "total of a budget must be a finite number, 0 or more"
        number = as_number(self.total, what)
        if not 0 <= number < math.inf:
            raise ValueError(f"{what}; got {number}.")
        if not is_whole(self.horizon, 1):
            raise ValueError(f"horizon is {self.horizon!r}; a total budget needs a whole number of pulls, 1 or more.")
        object.__setattr__(self, "total", number)
        object.__setattr__(self, "horizon", int(self.horizon))

    def at(self, t: int) -> float:
        """ε_t."""
        return self.total / self.horizon if _pull(t) <= self.horizon else 0.0

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        return self.at(1) * max(0, min(horizon, self.horizon) - n_arms)

    def kernel(self) -> PowerKernel:
        """For kernels."""
        return PowerKernel(self.at(1), 0.0, float(self.horizon))


@dataclass(frozen=True)
class RisingBudget:
    """`total` spread over the first `horizon` pulls in proportion to time, and nothing after them.

    The best way to spend a small total (docs/theory.md): ε_t = total·2t/(horizon·(horizon + 1)).

    Parameters
    ----------
    total
        Nats in all, 0 or more.
    horizon
        Over how many pulls, 1 or more.

    Examples
    --------
    >>> RisingBudget(total=3.0, horizon=999).at(333)
    0.002
    """

    total: float
    horizon: int

    def __post_init__(self) -> None:
        even = TotalBudget(self.total, self.horizon)
        object.__setattr__(self, "total", even.total)
        object.__setattr__(self, "horizon", even.horizon)

    def at(self, t: int) -> float:
        """ε_t."""
        return self.kernel().scale * _pull(t) if t <= self.horizon else 0.0

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        last = min(horizon, self.horizon)
        return self.kernel().scale * (last * (last + 1) - n_arms * (n_arms + 1)) / 2.0 if last > n_arms else 0.0

    def kernel(self) -> PowerKernel:
        """For kernels."""
        return PowerKernel(self.total / (0.5 * self.horizon * (self.horizon + 1.0)), -1.0, float(self.horizon))


@dataclass(frozen=True)
class Constant:
    """The same ε at every step; what a plain number means.

    >>> Constant(0.1).sum_to(n_arms=4, horizon=1004)
    100.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        number = as_number(self.epsilon, "epsilon must be a number, math.inf, a PowerLaw or a TotalBudget")
        if number < 0:
            raise ValueError(f"epsilon is {number}; a KL budget must be 0 or more (math.inf for no limit).")
        object.__setattr__(self, "epsilon", number)

    def at(self, t: int) -> float:
        """ε_t."""
        return self.epsilon

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        return self.epsilon * (horizon - n_arms) if horizon > n_arms else 0.0

    def kernel(self) -> PowerKernel:
        """For kernels."""
        return PowerKernel(self.epsilon, 0.0, math.inf)


class Pieces:
    """A budget as kernels take it, for the pulls of one piece of a run at a time; owned by one thread.

    The table of a user's own budget serves all replications: each would ask its copy the same in the same order.
    """

    def __init__(self, budget: Any, n_arms: int) -> None:
        self._budget, self._n_arms = budget, n_arms
        self._table = lru_cache(_PIECES_KEPT)(self._make_table)
        self._asked = math.inf  # up to which pull the copy has been asked; before the first there is none
        self._copy: Any = None

    def settings(self, start: int, stop: int) -> Any:
        """Return those of pulls start + 1 … stop."""
        if not hasattr(self._budget, "kernel"):
            return self._table(start, stop)
        if start < self._asked:  # a replication begins
            self._copy = call(fresh(self._budget, self._n_arms), "kernel", None)
        self._asked = stop
        return self._copy

    def _make_table(self, start: int, stop: int) -> TableKernel:
        if start < self._asked:
            self._copy, self._asked = fresh(self._budget, self._n_arms), 0
        values = [checked_at(self._copy, t) for t in range(int(self._asked) + 1, stop + 1)]
        self._asked = stop
        return TableKernel(start + 1, np.array(values[len(values) - (stop - start) :]))


def checked_at(budget: Any, t: int) -> float:
    """ε_t of any budget, or a sentence about what it returned."""
    value = call(budget, "at", t, t)
    what = f"{type(budget).__name__}.at({t}), the KL budget of step {t}, must be a number from 0 to math.inf"
    number = as_number(value, what)
    if number < 0:
        raise ValueError(f"{what}; got {value!r}.")
    return number


def may_grow(budget: Any) -> bool:
    """Whether ε_t is not known to be at most ε_s for every t > s."""
    return not hasattr(budget, "kernel") or budget.kernel().exponent < 0.0


def as_budget(epsilon: Any) -> Any:
    """A number becomes a constant budget; whatever has `at` passes."""
    return epsilon if hasattr(epsilon, "at") and not isinstance(epsilon, type) else Constant(epsilon)


def _pull(t: int) -> int:
    if t < 1:
        raise ValueError(f"t is {t}; pulls count from 1.")
    return t


def power_sum(exponent: float, times: FloatArray) -> FloatArray:
    """Σ_{s ≤ t} s^(−exponent), (n,) -> (n,): one by one up to 10⁴, then by Euler and Maclaurin.

    Beyond t = 10⁴ the third correction is below 1e-20.
    """
    s, m = exponent, float(_DIRECT)
    direct = np.append(0.0, np.cumsum(np.arange(1.0, min(m, times.max()) + 1.0) ** -s))
    sums = direct[np.minimum(times, m).astype(np.int64)]
    t = np.maximum(times, m)
    area = np.log(t / m) if s == 1.0 else (t ** (1.0 - s) - m ** (1.0 - s)) / (1.0 - s)
    ends = 0.5 * (t**-s - m**-s)
    slopes = s * (m ** (-s - 1.0) - t ** (-s - 1.0)) / 12.0
    return np.asarray(sums + area + ends + slopes)
