r"""Who notices when: two observers of the same paths.

The *informed* one knows all that the agent knows but its draws, and so tests with the likelihood ratio of the mixture
Σ_b w_b·q^b, whose divergence Σ_a p_a·log(p_a/π_a) a step is what it gains: the most that an observer can hope for. The
other one is feint's own `Observer`, which knows neither the private rewards nor ε. Each raises the alarm when its
evidence reaches log(1/α).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feint.bandit import Bandit
from feint.numerics._validate import FloatArray
from feint.planning.law import Paths, draw_paths

PATHS = 400


@dataclass(frozen=True)
class Notice:
    """When an observer notices: the 10, 50 and 90 % points of its first alarm (∞ where that is never raised), the mean
    of those raised, the share of runs in which it is, and the median posterior error that the agent has by then.
    """

    quantiles: tuple[float, float, float]
    time: float
    share: float
    error: float


def followed(bandit: Bandit, explorer: Any, budget: Any, alpha: float, checkpoints: Any = ()) -> Paths:
    """Paths until both observers have raised the alarm."""
    horizon = {"horizon": float(checkpoints[-1])} if len(checkpoints) else {}
    return draw_paths(
        bandit, explorer, budget, paths_of(bandit, PATHS), alpha=alpha, checkpoints=checkpoints, **horizon
    )


def paths_of(bandit: Bandit, n: int) -> int:
    """Fewer paths of many arms: a step takes about in proportion to them, and there are more steps."""
    return max(min(n, 64), min(n, int(n * (8.0 / bandit.n_arms) ** 2)))


def notice_of(alarms: FloatArray) -> Notice:
    """From times and log errors (R, 2)."""
    times = alarms[:, 0]
    raised = ~np.isnan(times)
    if not raised.any():
        return Notice((math.inf,) * 3, math.inf, 0.0, math.nan)
    low, middle, high = quantiles_of(times)
    error = float(np.exp(np.median(alarms[raised, 1])))
    return Notice((low, middle, high), float(times[raised].mean()), float(raised.mean()), error)


def quantiles_of(times: FloatArray) -> tuple[float, float, float]:
    """The 10, 50 and 90 % points of times, NaN being never; none between two times, so that ∞ stays what it is."""
    return tuple(
        float(q) for q in np.quantile(np.where(np.isnan(times), math.inf, times), (0.1, 0.5, 0.9), method="lower")
    )  # type: ignore[return-value]
