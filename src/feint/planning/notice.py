r"""Who notices when: two observers of the same paths.

The *informed* observer knows all that the agent knows except its draws. It tests with the likelihood ratio of the
mixture Σ_b w_b·q^b and gains the divergence Σ_a p_a·log(p_a/π_a) per step, the most that an observer can hope for. The
other one is feint's own `Observer`, which knows neither the private rewards nor ε. Each raises the alarm when its
evidence reaches log(1/α).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.goals import BestArm
from feint.planning.path_setup import draw_paths
from feint.planning.path_state import Paths

PATHS = 500
_SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Notice:
    """When an observer notices.

    `quantiles` are the 10, 50 and 90 % points of its first alarm (∞ where it never comes), `time` the mean of the
    alarms that come, `share` the share of runs in which one comes, and `error` the agent's median posterior error by
    then. `errors` has the Monte Carlo standard error of each, by its name.
    """

    quantiles: tuple[float, float, float]
    time: float
    share: float
    error: float
    errors: dict[str, Any]

    def __repr__(self) -> str:
        low, median, high = self.quantiles
        times = f"median {median:,.0f} pulls ({low:,.0f} to {high:,.0f} in 80 %)" if self.share else "never"
        return f"<Notice: {times}, in {100 * self.share:.3g} % of runs; posterior error by then {self.error:.2g}>"


def watch_paths(
    bandit: Bandit,
    explorer: Any,
    budget: Any,
    alpha: float,
    checkpoints: Any = (),
    goal: Any = BestArm(),  # noqa: B008 - frozen
) -> Paths:
    """Draw paths until both observers have raised the alarm."""
    horizon = {"horizon": float(checkpoints[-1])} if len(checkpoints) else {}
    return draw_paths(
        bandit, explorer, budget, path_count(bandit, PATHS), alpha=alpha, checkpoints=checkpoints, goal=goal, **horizon
    )


def path_count(bandit: Bandit, n: int) -> int:
    """Return how many paths to draw: n, or fewer with many arms, which need more leaps and longer ones to compute."""
    return max(min(n, 64), min(n, int(n * (8.0 / bandit.n_arms) ** 2)))


def notice_of(alarms: FloatArray) -> Notice:
    """Summarise the alarms of R paths, (R, 2): their times and the log errors at them."""
    times = alarms[:, 0]
    raised = ~np.isnan(times)
    if not raised.any():
        return Notice((math.inf,) * 3, math.inf, 0.0, math.nan, {})
    share, logs = float(raised.mean()), alarms[raised, 1]
    errors = {
        "quantiles": quantile_errors(times),
        "time": mean_error(times[raised]),
        "share": math.sqrt(share * (1.0 - share) / times.size),
        "error": float(np.exp(np.median(logs))) * quantile_errors(logs)[1],
    }
    return Notice(quantiles_of(times), float(times[raised].mean()), share, float(np.exp(np.median(logs))), errors)


def quantiles_of(times: FloatArray) -> tuple[float, float, float]:
    """Return the 10, 50 and 90 % points of times; NaN means never. They are not interpolated, so that ∞ stays ∞."""
    low, middle, high = np.quantile(np.where(np.isnan(times), math.inf, times), _SHARES, method="lower").tolist()
    return low, middle, high


def quantile_errors(times: FloatArray) -> tuple[float, float, float]:
    """Return the errors of `quantiles_of`: half the distance of quantiles one binomial standard error to each side."""
    ordered = np.where(np.isnan(times), math.inf, times)

    def error(share: float) -> float:
        off = math.sqrt(share * (1.0 - share) / times.size)
        low, high = np.quantile(ordered, (max(0.0, share - off), min(1.0, share + off)), method="nearest")
        return 0.5 * float(high - low) if low < high else 0.0

    low, middle, high = map(error, _SHARES)
    return low, middle, high


def mean_error(values: FloatArray) -> Any:
    """Return the standard error of a mean over the first axis."""
    return values.std(0)[()] / math.sqrt(len(values))
