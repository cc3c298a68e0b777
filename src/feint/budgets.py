"""KL budgets over time: how much divergence each step may spend.

The t-th pull (t = 1, 2, …, the initial round included) may spend ε_t. The initial round is outside the observer's test
and spends nothing. No budget here grows with t: the engine's bounds rely on it.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feint.numerics._jit import inlined
from feint.numerics._validate import as_number, is_whole

_DIRECT = 10_000  # terms of a power sum added one by one; the rest by Euler and Maclaurin


@dataclass(frozen=True)
class PowerLaw:
    """ε_t = scale·t^(−exponent), with exponent ≥ 0.

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
        middle = min(horizon, n_arms + _DIRECT)
        direct = math.fsum(np.arange(n_arms + 1, middle + 1, dtype=float) ** -self.exponent)
        return self.scale * (direct + _power_tail(middle, horizon, self.exponent))

    def parameters(self) -> tuple[float, float, float]:
        """(scale, exponent, last t), as the kernels take every budget."""
        return self.scale, self.exponent, math.inf


@dataclass(frozen=True)
class TotalBudget:
    """`total` spread evenly over the first `horizon` pulls, and nothing after them.

    The K pulls of the initial round leave their share unspent, so total·(1 − K/horizon) is spent in all.

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

    def parameters(self) -> tuple[float, float, float]:
        """(scale, exponent, last t), as the kernels take every budget."""
        return self.at(1), 0.0, float(self.horizon)


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

    def parameters(self) -> tuple[float, float, float]:
        """(scale, exponent, last t), as the kernels take every budget."""
        return self.epsilon, 0.0, math.inf


Budget = Constant | PowerLaw | TotalBudget
_KINDS: dict[str, Any] = {"Constant": Constant, "PowerLaw": PowerLaw, "TotalBudget": TotalBudget}


def as_budget(epsilon: Any) -> Budget:
    """A number becomes a constant budget; budgets pass."""
    return epsilon if isinstance(epsilon, Constant | PowerLaw | TotalBudget) else Constant(epsilon)


def budget_config(budget: Budget) -> dict[str, Any]:
    """A JSON-ready description, from which `budget_from_config` makes the same budget; ∞ is written as "inf"."""
    fields = {name: "inf" if value == math.inf else value for name, value in asdict(budget).items()}
    return {"kind": type(budget).__name__} | fields


def budget_from_config(config: dict[str, Any]) -> Budget:
    """The budget that `budget_config` described."""
    fields = {name: math.inf if value == "inf" else value for name, value in config.items() if name != "kind"}
    budget: Budget = _KINDS[config["kind"]](**fields)
    return budget


def _pull(t: int) -> int:
    if t < 1:
        raise ValueError(f"t is {t}; pulls count from 1.")
    return t


def _power_tail(first: int, last: int, exponent: float) -> float:
    """Σ t^(−s) for t = first + 1 … last, by Euler–Maclaurin; beyond t = 10⁴ its third correction is below 1e-20."""
    if last <= first:
        return 0.0
    a, b, s = float(first), float(last), exponent
    integral = math.log(b / a) if s == 1.0 else (b ** (1.0 - s) - a ** (1.0 - s)) / (1.0 - s)
    ends = (b**-s - a**-s) / 2.0
    slopes = -s * (b ** (-s - 1.0) - a ** (-s - 1.0)) / 12.0
    return integral + ends + slopes


@inlined
def epsilon_at(t: int, scale: float, exponent: float, last: float) -> float:
    """ε_t from a budget's parameters."""
    if t > last:
        return 0.0
    if exponent == 0.0:
        return scale
    return scale * float(t) ** -exponent
