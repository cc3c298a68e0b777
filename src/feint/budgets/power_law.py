"""A budget that falls as a power of time."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from feint._types import FloatArray
from feint.budgets.base import PowerKernel, check_pull
from feint.numerics._validate import set_number

_DIRECT = 10_000  # terms of a power sum added one by one


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

    name: ClassVar[str] = "power"
    aliases: ClassVar[tuple[str, ...]] = ("power-law",)
    scale: float
    exponent: float

    def __post_init__(self) -> None:
        for name in ("scale", "exponent"):
            what = f"{name} of a power law must be a finite number, 0 or more"
            set_number(self, name, what, lambda x: 0 <= x < math.inf)

    def at(self, t: int) -> float:
        """Return ε_t."""
        return self.scale * float(check_pull(t)) ** -self.exponent

    def sum_to(self, n_arms: int, horizon: int) -> float:
        """Return Σ ε_t over the pulls after the initial round."""
        if horizon <= n_arms:
            return 0.0
        up_to_here, before = power_sum(self.exponent, np.array([horizon, n_arms], dtype=float))
        return float(self.scale * (up_to_here - before))

    def kernel(self) -> PowerKernel:
        """Return the settings for kernels."""
        return PowerKernel(self.scale, self.exponent, math.inf)


def power_sum(exponent: float, times: FloatArray) -> FloatArray:
    """Return Σ_{s ≤ t} s^(−exponent), (n,) -> (n,): term by term up to 10⁴, then by Euler–Maclaurin.

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
