"""The price of deception in power: how often tests catch the agent, against the bound q*(α; B) that none can pass."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy import stats

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.budgets import TotalBudget
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding, Point, at_every_point
from feint.experiments.resumable import simulate_resumably
from feint.numerics import boost_probability
from feint.registry.instances import PAPER
from feint.support.intervals import Interval, bounded_mean_interval, share_interval
from feint.support.style import COLOURS, GREY, draw_intervals, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "alpha": 0.05,
    "totals": tuple(10.0 ** (i / 2) for i in range(-4, 3)),
    "horizon": 400,
    "replications": 1_500,
}
QUICK: dict[str, Any] = {"totals": (0.01, 0.1, 1.0, 10.0), "horizon": 300, "replications": 400}
CAPTION = (
    "Share of {replications} runs that tests of level {alpha} catch within {horizon} pulls, against the total KL "
    "that the runs spent; 95 % intervals."
)
_REACHED, _NORMAL = 0.5, 0.1  # shares of the floor's power, and of the normal approximation


def steps(settings: dict[str, Any]) -> int:
    """Return the number of trajectory-steps, for the progress bar."""
    return int(len(settings["totals"]) * settings["replications"] * settings["horizon"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return, at the horizon: `p_value` of the observer; `log_ratio` of one who knows every boost; `floor`, the time at
    which one who knows the private posterior but not the draws raises the alarm; and the total KL `spent`.
    """
    bandit, horizon = Bandit(settings["public"], settings["private"]), settings["horizon"]
    shape = (len(settings["totals"]), settings["replications"])
    p_value, log_ratio, floor, spent = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape[0])
    for i, total in enumerate(settings["totals"]):
        runs = simulate_resumably(
            bandit,
            epsilon=TotalBudget(total, horizon),
            horizon=horizon,
            replications=settings["replications"],
            seed=seed,
            observe=True,
            alpha=settings["alpha"],
            checkpoints=[horizon],
            progress=tick,
        )
        p_value[i], log_ratio[i] = runs.p_value.values, runs.log_likelihood_ratio.values[:, -1]
        floor[i] = runs.floor_time.values
        spent[i] = runs.kl_spent.values[:, -1].mean()
    return xr.Dataset(
        {
            "p_value": (("total", "sample"), p_value),
            "log_ratio": (("total", "sample"), log_ratio),
            "floor": (("total", "sample"), floor),
            "spent": ("total", spent),
        },
        coords={"total": list(settings["totals"])},
        attrs={"alpha": settings["alpha"]},
    )


def neyman_pearson(log_ratios: FloatArray, alpha: float) -> FloatArray:
    r"""Return values, one per run, whose mean is the power of the best test of size α, from log(dQ/dP) under Q.

    .. math:: \text{power} = \min_c\; \alpha e^c + E_Q\,(1 - e^{c - \log dQ/dP})^+

    The minimum is at the c for which the test "log ratio ≥ c" has size E_Q[e^{−log ratio}; log ratio ≥ c] = α, with
    the null law from importance weights. It is the share of runs above c, with the boundary drawn at random where the
    size would jump over α. The derivative in c vanishes there, so the error in c does not matter to first order, and
    the values can be treated as a sample. A minimum over c is low on average, so a power that is significantly above a
    bound is above it all the more.
    """
    ordered = np.sort(log_ratios)[::-1]
    sizes = np.cumsum(np.exp(-ordered)) / ordered.size
    reached = int(np.searchsorted(sizes, alpha))
    if reached == ordered.size:  # all runs together have a size below α: always reject
        return np.ones(ordered.size)
    c = ordered[reached]
    return np.asarray(alpha * math.exp(c) + np.maximum(0.0, -np.expm1(c - log_ratios)))


def best_interval(values: FloatArray, level: float = 0.05) -> Interval:
    """Return the best test's power and interval from the values of `neyman_pearson`: the least, α·e^c, and the rest."""
    least = float(values.min())
    above = bounded_mean_interval(values - least, level)
    value, low, high = (min(1.0, least + end) for end in above)
    return value, low, high


def powers(data: xr.Dataset) -> tuple[FloatArray, FloatArray]:
    """Return (total, sample) values whose means are the powers of the observer's test (0 or 1) and of the best test."""
    alpha = data.attrs["alpha"]
    best = np.array([neyman_pearson(ratios, alpha) for ratios in data.log_ratio.values])
    return (data.p_value.values <= alpha).astype(float), best


def normal_power(total: FloatArray, alpha: float) -> FloatArray:
    """Return Φ(√2B − z_α), the power of the best test of N(0, 1) against N(√2B, 1), whose divergence is B."""
    return np.asarray(stats.norm.cdf(np.sqrt(2 * total) - stats.norm.isf(alpha)))


def plot(data: xr.Dataset) -> "Figure":
    """Draw power against the total KL spent."""
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    x = data.spent.values
    grid = np.geomspace(x.min(), x.max(), 200)
    alpha = data.attrs["alpha"]
    axes.plot(grid, boost_probability(alpha, grid), color=GREY, label=r"bound $q^*(\alpha; B)$")
    axes.plot(grid, normal_power(grid, alpha), color=COLOURS[0], linewidth=1, linestyle="--", label="shifted normals")
    observed, best = powers(data)
    known = [best_interval(values) for values in best]
    draw_intervals(axes, x, known, COLOURS[0], marker="D", linestyle="", label="the best test, if all is known")
    caught = [share_interval(int(values.sum()), values.size) for values in observed]
    draw_intervals(axes, x, caught, COLOURS[1], marker="s", linestyle="-", linewidth=1, label="the observer's test")
    axes.axhline(alpha, color=GREY, linewidth=0.8, linestyle=":")
    axes.text(1.01, alpha, r"$\alpha$", transform=axes.get_yaxis_transform(), color=GREY, fontsize=8, va="center")
    axes.set(xscale="log", xlabel="total KL spent $B$", ylabel="power", ylim=(-0.03, 1.05))
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    tidy(axes)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test powers against their bounds. Where log ratios are nearly normal, N(B, 2B), the best test has the power
    Φ(√2B − z_α), less than the bound.
    """
    alpha, spent = data.attrs["alpha"], data.spent.values
    bounds = np.asarray(boost_probability(alpha, spent))
    level = LEVEL / bounds.size
    points: dict[str, list[Point]] = {"caught": [], "half": [], "best": [], "normal": []}

    def add(kind: str, interval: Interval, zero: float = 0.0, unit: float = 0.01) -> None:
        value, low, high = ((end - zero) / unit for end in interval)
        points[kind].append(Point(f"B = {spent[i]:.2g}", value, low, high))

    observed, best = powers(data)
    for i, (bound, normal) in enumerate(zip(bounds, normal_power(spent, alpha), strict=True)):
        runs, caught = observed[i].size, int(observed[i].sum())
        add("caught", share_interval(caught, runs, level), bound)
        floor = int((~np.isnan(data.floor.values[i])).sum())
        add("half", _missing_power(share_interval(floor, runs, level / 2), share_interval(caught, runs, level / 2)))
        known = best_interval(best[i], level)
        add("best", known, bound)
        add("normal", known, normal, 0.01 * normal)
    above = "power less the bound q*(α; B), percentage points"
    reached = "half of the floor's power less the observer's, percentage points"
    normal_text, limit = "power of the best test against Φ(√2B − z), %", 100 * _NORMAL
    return [
        at_every_point(
            "the observer does not beat the bound", OURS, above, points["caught"], at_most=0.0, theorem=True
        ),
        at_every_point(
            "the observer has half of the floor's power",
            OURS,
            reached,
            points["half"],
            at_most=0.0,
        ),
        at_every_point(
            "one who knows all does not beat the bound", OURS, above, points["best"], at_most=0.0, theorem=True
        ),
        at_every_point(
            "one who knows all has the power of shifted normals",
            OURS,
            normal_text,
            points["normal"],
            at_least=-limit,
            at_most=limit,
        ),
    ]


def _missing_power(floor: Interval, observed: Interval) -> Interval:
    """Return the interval of `_REACHED` times the floor's power less the observer's, from the intervals of both."""
    return (
        _REACHED * floor[0] - observed[0],
        _REACHED * floor[1] - observed[2],
        _REACHED * floor[2] - observed[1],
    )
