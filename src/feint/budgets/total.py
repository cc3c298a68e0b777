"""A total budget, spread evenly."""

import math
from dataclasses import dataclass
from typing import ClassVar

from feint.budgets.base import PowerKernel, check_pull
from feint.numerics._validate import is_whole, set_number


@dataclass(frozen=True)
class TotalBudget:
    """`total` spread evenly over the first `horizon` pulls, and nothing after them.

    The K pulls of the initial round leave their share unspent, so total·(1 − K/horizon) is spent in all.

    Parameters
    ----------
    total
        Nats in total, 0 or more.
    horizon
        The number of pulls it is spread over, 1 or more.

    Examples
    --------
    >>> TotalBudget(total=3.0, horizon=1000).at(1)
    0.003
    """

    name: ClassVar[str] = "total"
    aliases: ClassVar[tuple[str, ...]] = ("total-budget",)
    total: float
    horizon: int

    def __post_init__(self) -> None:
        what = "total of a budget must be a finite number, 0 or more"
        set_number(self, "total", what, lambda x: 0 <= x < math.inf)
        if not is_whole(self.horizon, 1):
            raise ValueError(f"horizon is {self.horizon!r}; a total budget needs a whole number of pulls, 1 or more.")
        object.__setattr__(self, "horizon", int(self.horizon))

    def at(self, t: int) -> float:
        """Return ε_t."""
        return self.total / self.horizon if check_pull(t) <= self.horizon else 0.0

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Return Σ ε_t over the pulls after the initial round."""
        return self.at(1) * max(0, min(horizon, self.horizon) - n_arms)

    def kernel(self) -> PowerKernel:
        """Return the settings for kernels."""
        return PowerKernel(self.at(1), 0.0, float(self.horizon))
