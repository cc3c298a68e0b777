"""The contract of budgets: how much divergence each step may spend.

The t-th pull (t = 1, 2, …, the initial round included) may spend ε_t. The initial round is outside the observer's test
and spends nothing. A budget is anything with `at(t)` -> ε_t, a number from 0 to ∞. One with `kernel()`, which gives its
settings as a NamedTuple whose class has the part `epsilon_at`, is not asked step by step. A run asks its copy of a
user's own budget for t = 1, 2, 3, … in this order, so that it may keep state; plans and the theory ask for the times
they need.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import by_type, inlined, parts
from feint.numerics._validate import checked_number
from feint.support.own_parts import call, fresh

_PIECES_KEPT = 64  # tables of own budgets, for all replications together


@by_type
def epsilon_at(budget: Any, t: int) -> float:
    """Return ε_t, for kernels."""
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
    """The budget scale·t^(−exponent) up to t = last; every budget of the package has this form."""

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


class BudgetPieces:
    """A budget as kernels take it, for the pulls of one piece of a run at a time; owned by one thread.

    The table of a user's own budget serves all replications, because each would ask its copy the same questions.
    """

    def __init__(self, budget: Any, n_arms: int) -> None:
        self._budget, self._n_arms = budget, n_arms
        self._table = lru_cache(_PIECES_KEPT)(self._make_table)
        self._asked = math.inf  # the last pull that the copy was asked about; ∞ while there is no copy
        self._copy: Any = None

    def settings(self, start: int, stop: int) -> Any:
        """Return the kernel settings of pulls start + 1 … stop."""
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
    """Return ε_t of any budget; refuse what is not a number from 0 to ∞."""
    value = call(budget, "at", t, t)
    what = f"{type(budget).__name__}.at({t}), the KL budget of step {t}, must be a number from 0 to math.inf"
    return checked_number(value, what, lambda x: x >= 0)


def may_grow(budget: Any) -> bool:
    """Return False if ε_t is known to be at most ε_s for every t > s, otherwise True."""
    power = power_of(budget)
    return power is None or power.exponent < 0.0


def power_of(budget: Any) -> PowerKernel | None:
    """Return the settings of a budget scale·t^(−exponent), as all of the package are; None for any other budget."""
    settings = call(budget, "kernel", None) if hasattr(budget, "kernel") else None
    return settings if isinstance(settings, PowerKernel) else None


def check_pull(t: int) -> int:
    """Return t, the number of a pull; refuse one below 1."""
    if t < 1:
        raise ValueError(f"t is {t}; pulls count from 1.")
    return t
