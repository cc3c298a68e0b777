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
from feint.registry.instance_files import PAPER
from feint.support.figure_style import COLOURS, GREY, draw_intervals, new_figure, tidy
from feint.support.intervals import Interval, bounded_mean_interval, share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "alpha": 0.05,
    "totals": tuple(10.0 ** (i / 2) for i in range(-4, 3)),
    "horizon": 400,
    "runs": (1_500,) * 7,  # at each total
}
QUICK: dict[str, Any] = {"totals": (0.01, 0.1, 1.0, 10.0), "horizon": 300, "runs": (400,) * 4}
FULL: dict[str, Any] = {"runs": (14_000, 14_000, 14_000, 100_000, 3_000, 30_000, 3_000)}
CAPTION = (
    "Share of runs that tests of level {alpha} catch within {horizon} pulls, against the total KL that the runs may "
    "spend; 95 % intervals of {runs} runs."
)
_REACHED, _NORMAL = 0.5, 0.1  # shares of the floor's power, and of the normal approximation
_SPAN, _GRID = 0.4, 31  # where the best test is looked for, in standard deviations of the log ratio, and at how many u
_CHANGED_FLOOR = ("2aec69e",)  # what the observer's power is compared with
_CHANGED_NORMAL = ("9c71bac",)  # B is what is on offer, not an estimate of what is spent


def steps(settings: dict[str, Any]) -> int:
    """Return the number of trajectory-steps, for the progress bar."""
    return int(sum(settings["runs"]) * settings["horizon"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return, at the horizon, of the first `runs` samples at each total: `p_value` of the observer; `log_ratio` of one
    who knows every boost; `floor`, the time at which one who knows the private posterior but not the draws raises the
    alarm; and the total KL on `offer` after the first round.
    """
    bandit, horizon = Bandit(settings["public"], settings["private"]), settings["horizon"]
    p_value, log_ratio, floor = np.full((3, len(settings["totals"]), max(settings["runs"])), math.nan)
    offer = []
    for i, (total, number) in enumerate(zip(settings["totals"], settings["runs"], strict=True)):
        budget = TotalBudget(total, horizon)
        runs = simulate_resumably(
            bandit,
            epsilon=budget,
            horizon=horizon,
            replications=number,
            seed=seed,
            observe=True,
            alpha=settings["alpha"],
            checkpoints=[horizon],
            progress=tick,
        )
        p_value[i, :number], floor[i, :number] = runs.p_value.values, runs.floor_time.values
        log_ratio[i, :number] = runs.log_likelihood_ratio.values[:, -1]
        offer.append(budget.sum_to(bandit.n_arms, horizon))
    return xr.Dataset(
        {
            "p_value": (("total", "sample"), p_value),
            "log_ratio": (("total", "sample"), log_ratio),
            "floor": (("total", "sample"), floor),
            "offer": ("total", offer),
            "runs": ("total", list(settings["runs"])),
        },
        coords={"total": list(settings["totals"])},
        attrs={"alpha": settings["alpha"]},
    )


def best_power(log_ratios: FloatArray, alpha: float) -> float:
    r"""Return an estimate of the power of the best test of size α, from log(dQ/dP) under Q (Neyman and Pearson).

    .. math:: \text{power} = \min_u\; \alpha u + E_Q\,(1 - u\, dP/dQ)^+

    The minimum is at the u for which the test "dQ/dP ≥ u" has size E_Q[dP/dQ; dQ/dP ≥ u] = α, with the null law from
    importance weights. It is the share of runs above u, with the boundary drawn at random where the size would jump
    over α.
    """
    ordered = np.sort(log_ratios)[::-1]
    sizes = np.cumsum(np.exp(-ordered)) / ordered.size
    reached = int(np.searchsorted(sizes, alpha))
    if reached == ordered.size:  # all runs together have a size below α: always reject
        return 1.0
    c = ordered[reached]
    return float(alpha * math.exp(c) + np.maximum(0.0, -np.expm1(c - log_ratios)).mean())


def best_interval(log_ratios: FloatArray, alpha: float, total: float, level: float = 0.05) -> Interval:
    """Return the best test's power and its interval, valid for any law of the log ratios.

    The power is the least value of h(u) = αu + E_Q(1 − u·dP/dQ)⁺, which is convex with slope α − s(u), where the size
    s(u) = E_Q[dP/dQ; dQ/dP ≥ u] falls in u. At a u that does not depend on the data, h and u·s are means of bounded
    values. Such u are taken around that of shifted normals of divergence `total`. Each end of the interval has half of
    the level. The upper one is the least upper bound of h at three u. The lower one has bounds of h at all of them and
    of s at the first and the last, together: between two neighbours h falls below both by at most
    gap·a·b/(a + b), where −a and b bound its slope. Before the first u it falls by at most u times its slope there, and
    after the last it falls until αu = 1 at most. The power is never below α.
    """
    spread = math.sqrt(2 * total)
    points = np.exp(spread * (stats.norm.isf(alpha) + np.linspace(-_SPAN, _SPAN, _GRID)) - total)

    def value(u: float, level: float) -> Interval:
        return shift(bounded_mean_interval(np.maximum(0.0, -np.expm1(math.log(u) - log_ratios)), level), alpha * u)

    def size(u: float, level: float) -> Interval:
        below = math.log(u) - log_ratios
        return shift(bounded_mean_interval(np.where(below <= 0, np.exp(np.minimum(0.0, below)), 0.0), level), unit=u)

    high = min(value(u, level / 6)[2] for u in points[[_GRID // 4, _GRID // 2, 3 * _GRID // 4]])
    each = level / 2 / (_GRID + 2)
    lows = np.array([value(u, each)[1] for u in points])
    (_, first_low, first_high), (_, last_low, last_high) = size(points[0], each), size(points[-1], each)
    falls, rises = max(0.0, first_high - alpha), max(0.0, alpha - last_low)
    between = np.minimum(lows[1:], lows[:-1]) - np.diff(points) * falls * rises / max(falls + rises, 1e-300)
    before = lows[0] - max(0.0, alpha - first_low) * points[0]
    after = lows[-1] - max(0.0, last_high - alpha) * max(0.0, 1 / alpha - points[-1])
    low, high = max(alpha, min(before, after, between.min())), min(1.0, high)
    return min(max(best_power(log_ratios, alpha), low), high), low, high


def shift(interval: Interval, by: float = 0.0, unit: float = 1.0) -> Interval:
    """Return an interval in other units, moved."""
    value, low, high = interval
    return value / unit + by, low / unit + by, high / unit + by


def samples(data: xr.Dataset, name: str) -> list[FloatArray]:
    """Return a variable's values at each total, as many as there are runs."""
    return [values[:runs] for values, runs in zip(data[name].values, data.runs.values, strict=True)]


def normal_power(total: FloatArray, alpha: float) -> FloatArray:
    """Return Φ(√2B − z_α), the power of the best test of N(0, 1) against N(√2B, 1), whose divergence is B."""
    return np.asarray(stats.norm.cdf(np.sqrt(2 * total) - stats.norm.isf(alpha)))


def plot(data: xr.Dataset) -> "Figure":
    """Draw power against the total KL on offer."""
    figure = new_figure(6.0, 3.6)
    axes = figure.subplots()
    x = data.offer.values
    grid = np.geomspace(x.min(), x.max(), 200)
    alpha = data.attrs["alpha"]
    axes.plot(grid, boost_probability(alpha, grid), color=GREY, label=r"bound $q^*(\alpha; B)$")
    axes.plot(grid, normal_power(grid, alpha), color=COLOURS[0], linewidth=1, linestyle="--", label="shifted normals")
    known = [best_interval(ratios, alpha, b) for ratios, b in zip(samples(data, "log_ratio"), x, strict=True)]
    draw_intervals(axes, x, known, COLOURS[0], marker="D", linestyle="", label="the best test, if all is known")
    caught = [share_interval(int((values <= alpha).sum()), values.size) for values in samples(data, "p_value")]
    draw_intervals(axes, x, caught, COLOURS[1], marker="s", linestyle="-", linewidth=1, label="the observer's test")
    axes.axhline(alpha, color=GREY, linewidth=0.8, linestyle=":")
    axes.text(1.01, alpha, r"$\alpha$", transform=axes.get_yaxis_transform(), color=GREY, fontsize=8, va="center")
    axes.set(xscale="log", xlabel="total KL on offer $B$", ylabel="power", ylim=(-0.03, 1.05))
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    tidy(axes)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test powers against their bounds. Where log ratios are nearly normal, N(B, 2B), the best test has the power
    Φ(√2B − z_α), less than the bound.
    """
    alpha, offer = data.attrs["alpha"], data.offer.values
    bounds = np.asarray(boost_probability(alpha, offer))
    level = LEVEL / bounds.size
    points: dict[str, list[Point]] = {"caught": [], "half": [], "best": [], "normal": []}

    def add(kind: str, interval: Interval, zero: float = 0.0, unit: float = 0.01) -> None:
        points[kind].append(Point(f"B = {total:.2g}", *shift(interval, -zero / unit, unit)))

    parts = zip(offer, *(samples(data, name) for name in ("p_value", "floor", "log_ratio")), strict=True)
    for (total, p_values, floor, log_ratios), bound, normal in zip(
        parts, bounds, normal_power(offer, alpha), strict=True
    ):
        caught = p_values <= alpha
        add("caught", share_interval(int(caught.sum()), caught.size, level), bound)
        # Both tests watch the same runs: what one run adds lies from −1 to the share of the floor.
        short = _REACHED * ~np.isnan(floor) - caught
        mean = bounded_mean_interval((short + 1) / (1 + _REACHED), level)
        add("half", shift(mean, -1.0, 1 / (1 + _REACHED)))
        known = best_interval(log_ratios, alpha, total, level)
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
            changed=_CHANGED_FLOOR,
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
            changed=_CHANGED_NORMAL,
        ),
    ]
