"""KL budgets over time: how much divergence each step may spend.

The t-th pull (t = 1, 2, …, the initial round included) may spend ε_t. The initial round is outside the observer's test
and spends nothing. No budget here grows with t: the engine's bounds rely on it.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feint.numerics._jit import inlined


@dataclass(frozen=True)
class PowerLaw:
    """ε_t = scale·t^(−exponent), with exponent ≥ 0.

    >>> PowerLaw(scale=1.0, exponent=0.5).at(100)
    0.1
    """

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        _check("scale", self.scale, 0.0)
        _check("exponent", self.exponent, 0.0)

    def at(self, t: int) -> float:
        """ε_t."""
        return float(self.scale * float(t) ** -self.exponent)

    def total(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        t = np.arange(n_arms + 1, horizon + 1, dtype=float)
        return float(math.fsum(self.scale * t**-self.exponent))

    def parameters(self) -> tuple[float, float, float]:
        """(scale, exponent, last t), as the kernels take every budget."""
        return self.scale, self.exponent, math.inf


@dataclass(frozen=True)
class TotalBudget:
    """`total` spread evenly over the first `horizon` pulls, and nothing after them.

    >>> TotalBudget(total=3.0, horizon=1000).at(1)
    0.003
    """

    total_kl: float
    horizon: int

    def __init__(self, total: float, horizon: int) -> None:
        _check("total", total, 0.0)
        if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
            raise ValueError(f"horizon is {horizon!r}; a total budget needs a whole number of pulls, 1 or more.")
        object.__setattr__(self, "total_kl", float(total))
        object.__setattr__(self, "horizon", int(horizon))

    def at(self, t: int) -> float:
        """ε_t."""
        return self.total_kl / self.horizon if t <= self.horizon else 0.0

    def total(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        return self.at(1) * max(0, min(horizon, self.horizon) - n_arms)

    def parameters(self) -> tuple[float, float, float]:
        """(scale, exponent, last t), as the kernels take every budget."""
        return self.at(1), 0.0, float(self.horizon)


@dataclass(frozen=True)
class Constant:
    """The same ε at every step; what a plain number means.

    >>> Constant(0.1).total(n_arms=4, horizon=1004)
    100.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float | np.number):
            raise ValueError(f"epsilon is {self.epsilon!r}; give a number, math.inf, a PowerLaw or a TotalBudget.")
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon is {self.epsilon}; a KL budget must be 0 or more (math.inf for no limit).")

    def at(self, t: int) -> float:
        """ε_t."""
        return float(self.epsilon)

    def total(self, n_arms: int, horizon: int) -> float:
        """Σ ε_t over the pulls after the initial round."""
        return float(self.epsilon) * max(0, horizon - n_arms) if self.epsilon else 0.0

    def parameters(self) -> tuple[float, float, float]:
        """(scale, exponent, last t), as the kernels take every budget."""
        return float(self.epsilon), 0.0, math.inf


Budget = Constant | PowerLaw | TotalBudget
_KINDS: dict[str, Any] = {"Constant": Constant, "PowerLaw": PowerLaw, "TotalBudget": TotalBudget}


def as_budget(epsilon: Any) -> Budget:
    """A number becomes a constant budget; budgets pass."""
    return epsilon if isinstance(epsilon, Constant | PowerLaw | TotalBudget) else Constant(epsilon)


def budget_config(budget: Budget) -> dict[str, Any]:
    """A JSON-ready description, from which `budget_from_config` makes the same budget; ∞ is written as "inf"."""
    fields = {name.removesuffix("_kl"): value for name, value in asdict(budget).items()}
    return {"kind": type(budget).__name__} | {k: "inf" if v == math.inf else v for k, v in fields.items()}


def budget_from_config(config: dict[str, Any]) -> Budget:
    """The budget that `budget_config` described."""
    fields = {k: math.inf if v == "inf" else v for k, v in config.items() if k != "kind"}
    budget: Budget = _KINDS[config["kind"]](**fields)
    return budget


def _check(name: str, value: float, least: float) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not least <= value < math.inf:
        raise ValueError(f"{name} is {value!r}; it must be a finite number, {least:g} or more.")


@inlined
def epsilon_at(t: int, scale: float, exponent: float, last: float) -> float:
    """ε_t from a budget's parameters."""
    if t > last:
        return 0.0
    if exponent == 0.0:
        return scale
    return scale * float(t) ** -exponent
