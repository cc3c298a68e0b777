"""A total budget, spread in proportion to time."""

from dataclasses import dataclass
from typing import ClassVar

from feint.budgets.base import PowerKernel, check_pull
from feint.budgets.total import TotalBudget


@dataclass(frozen=True)
class RisingBudget(TotalBudget):
    """`total` spread over the first `horizon` pulls in proportion to time, and nothing after them.

    The best way to spend a small total (docs/theory.md): ε_t = total·2t/(horizon·(horizon + 1)).

    Parameters
    ----------
    total
        Nats in total, 0 or more.
    horizon
        The number of pulls it is spread over, 1 or more.

    Examples
    --------
    >>> RisingBudget(total=3.0, horizon=999).at(333)
    0.002
    """

    name: ClassVar[str] = "rising"
    aliases: ClassVar[tuple[str, ...]] = ("rising-budget",)

    def at(self, t: int) -> float:
        """Return ε_t."""
        return self.kernel().scale * check_pull(t) if t <= self.horizon else 0.0

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Return Σ ε_t over the pulls after the initial round."""
        last = min(horizon, self.horizon)
        return self.kernel().scale * (last * (last + 1) - n_arms * (n_arms + 1)) / 2.0 if last > n_arms else 0.0

    def kernel(self) -> PowerKernel:
        """Return the settings for kernels."""
        return PowerKernel(self.total / (0.5 * self.horizon * (self.horizon + 1.0)), -1.0, float(self.horizon))
