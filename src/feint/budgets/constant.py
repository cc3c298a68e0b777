"""The same budget at every step."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from feint.budgets.base import PowerKernel
from feint.numerics._validate import as_number


@dataclass(frozen=True)
class Constant:
    """The same ε at every step; a plain number stands for this.

    >>> Constant(0.1).sum_to(n_arms=4, horizon=1004)
    100.0
    """

    name: ClassVar[str] = "constant"
    epsilon: float

    def __post_init__(self) -> None:
        number = as_number(
            self.epsilon, "epsilon must be a number, math.inf, one of feint.budgets or an object of your own with at(t)"
        )
        if number < 0:
            raise ValueError(f"epsilon is {number}; a KL budget must be 0 or more (math.inf for no limit).")
        object.__setattr__(self, "epsilon", number)

    def at(self, t: int) -> float:
        """Return ε_t."""
        return self.epsilon

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Return Σ ε_t over the pulls after the initial round."""
        return self.epsilon * (horizon - n_arms) if horizon > n_arms else 0.0

    def kernel(self) -> PowerKernel:
        """Return the settings for kernels."""
        return PowerKernel(self.epsilon, 0.0, math.inf)


def as_budget(epsilon: Any) -> Any:
    """Return a constant budget for a number; return anything with `at` as it is."""
    return epsilon if hasattr(epsilon, "at") and not isinstance(epsilon, type) else Constant(epsilon)
