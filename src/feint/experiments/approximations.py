"""What the paper's two approximations, Gauss–Hermite 32 and q-hat, do to its Figures 1 to 4.

Its own method runs as long as a minute allows, on the figures' instances and numbers of seeds. The figure numbers arms
and instances as printed, from 1; the data count from 0.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.experiments import figure3, figure4, paper_method
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.resumable import simulate_resumably
from feint.explorers import RoundRobin, TopTwo
from feint.registry.instance_files import PAPER
from feint.support.figure_style import (
    COLOURS,
    GREY,
    band,
    band_of_logs,
    new_figure,
    ordered_colours,
    spread_ticks,
    tidy,
)
from feint.support.intervals import median_ratio_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "epsilon": 0.1,
    "epsilons": (0.001, 0.01, 0.1, 1.0),
    "horizons": (30_000, 3_000, 5_000, 10_000),  # of Figures 1 to 4
    "seeds": (50, 100, 100, 50),
    "horizon": 2_000,  # of the claim about pulls
    "replications_pulls": 600,  # enough to see a difference of 10 %
}
QUICK: dict[str, Any] = {"horizons": (1_500, 600, 1_000, 1_500), "horizon": 600}
FULL: dict[str, Any] = {"replications_pulls": 1_200}
CAPTION = (
    "Figures 1 to 4, exactly (solid) and by the paper's quadrature and closed form (dashed), with its numbers of "
    "seeds; means with 95 % bands. Arms and instances are numbered as in the paper, from 1. The paper's method runs "
    "for about a minute in all."
)
EXACT, APPROXIMATE = 0, 1  # along `approach`
BOOSTED = [1, 2, 3]
_DRAWN = 50  # the figure begins here
_CHANGED = ("6917879", "7b1734e", "db7e8d4")  # the horizon, the statistic and the number of runs


def _instances() -> list[Bandit]:
    """Return the instances of Figure 4."""
    pairs = zip(figure4.SETTINGS["public"], figure4.SETTINGS["private"], strict=True)
    return [Bandit(public, private) for public, private in pairs]


def steps(settings: dict[str, Any]) -> int:
    """Return the trajectory-steps of the paper's method, which takes nearly all the time."""
    many = (1, len(settings["epsilons"]), 1, len(_instances()))
    arms = (4, 4, 4, 3)
    figures = zip(many, settings["seeds"], settings["horizons"], arms, strict=True)
    runs = sum(number * seeds * (horizon - n) for number, seeds, horizon, n in figures)
    return int(runs + settings["replications_pulls"] * (settings["horizon"] - 4))


def _run_both(
    bandit: Bandit, epsilon: float, horizon: int, seeds: int, *, round_robin: list[int], seed: int, tick: Tick
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return runs of the exact and of the paper's method."""
    times = np.unique(np.geomspace(bandit.n_arms, horizon, 60).astype(np.int64))
    common: dict[str, Any] = {"epsilon": epsilon, "horizon": horizon, "replications": seeds, "seed": seed}
    explorer = RoundRobin(round_robin) if round_robin else TopTwo()
    exact = simulate_resumably(bandit, explorer, checkpoints=times, **common)
    marks = [int(t) for t in times]
    return exact, paper_method.run(bandit, checkpoints=marks, round_robin=round_robin, tick=tick, **common)


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return what each figure shows, along `approach`, with a time of its own: `pulls`, `log_error`, `proportions` and
    `shortfall`; and `boosted(approach, run)`, the pulls of boosted arms at `horizon`.
    """
    bandit, epsilon = Bandit(settings["public"], settings["private"]), settings["epsilon"]
    lengths = list(zip(settings["horizons"], settings["seeds"], strict=True))
    common: dict[str, Any] = {"seed": seed, "tick": tick}
    parts: dict[str, Any] = {}

    def keep(name: str, dimensions: tuple[str, ...], values: FloatArray, times: FloatArray) -> None:
        parts[name] = ("approach", *dimensions), values
        parts[f"{name}_time"] = f"{name}_time", times

    many = _run_both(
        bandit, epsilon, settings["horizon"], settings["replications_pulls"], round_robin=BOOSTED, **common
    )
    parts["boosted"] = ("approach", "run"), [runs.pulls.values[:, -1, BOOSTED].sum(-1) for runs in many]
    pair = _run_both(bandit, epsilon, *lengths[0], round_robin=BOOSTED, **common)
    pulls = np.stack([runs.pulls.values.astype(float) for runs in pair])
    keep("pulls", ("pulls_seed", "pulls_time", "arm"), pulls, pair[0].time.values)
    pairs = [_run_both(bandit, each, *lengths[1], round_robin=[], **common) for each in settings["epsilons"]]
    errors = np.array([[runs.log_error.values for runs in pair] for pair in pairs]).swapaxes(0, 1)
    keep("log_error", ("epsilon", "error_seed", "log_error_time"), errors, pairs[0][0].time.values)
    asymmetric = Bandit(figure3.SETTINGS["asymmetric"], figure3.SETTINGS["private"])
    pair = _run_both(asymmetric, epsilon, *lengths[2], round_robin=[], **common)
    shares = np.stack([(runs.pulls / runs.time).values for runs in pair])
    keep("proportions", ("share_seed", "proportions_time", "arm"), shares, pair[0].time.values)
    shortfalls = []
    for instance in _instances():
        pair = _run_both(instance, epsilon, *lengths[3], round_robin=[], **common)
        shortfalls.append([figure4.shortfall(instance, runs.isel(time=slice(1, None))) for runs in pair])
    times = pair[0].time.values[1:]
    keep("shortfall", ("instance", "gamma_seed", "shortfall_time"), np.array(shortfalls).swapaxes(0, 1), times)
    return xr.Dataset(parts, coords={"epsilon": list(settings["epsilons"])})


def _draw_curves(axes: "Axes", data: xr.Dataset, name: str, curves: dict[str, dict[str, int]], colours: Any) -> None:
    """Draw curves, given as label and place, by both methods on log axes of time."""
    t = data[f"{name}_time"].values
    late = t >= _DRAWN
    for colour, (label, place) in zip(colours, curves.items(), strict=False):
        for style, approach in (("-", EXACT), ("--", APPROXIMATE)):
            values = data[name].isel({"approach": approach, **place}).values[:, late]
            draw = band_of_logs if name == "log_error" else band
            draw(axes, t[late], values, colour, label if approach == EXACT else "", linestyle=style)
    axes.set(xscale="log", xlabel="time $t$")
    axes.xaxis.set_minor_formatter("")  # less than a decade would have labels that run into each other
    axes.legend(frameon=False, fontsize=7)


def plot(data: xr.Dataset) -> "Figure":
    """Draw what Figures 1 to 4 show, exact (solid) and by the paper's method (dashed)."""
    figure = new_figure(7.2, 5.6)
    (first, second), (third, fourth) = figure.subplots(2, 2)
    arms = {f"arm {arm + 1}": {"arm": arm} for arm in BOOSTED}
    _draw_curves(first, data, "pulls", arms, COLOURS[1:])
    second.set_ylim(-4, 0.2)
    budgets = {rf"$\varepsilon = {each:g}$": {"epsilon": i} for i, each in enumerate(data.epsilon.values)}
    _draw_curves(second, data, "log_error", budgets, ordered_colours(len(budgets)))
    _draw_curves(third, data, "proportions", arms, COLOURS[1:])
    instances = {f"instance {i + 1}": {"instance": i} for i in range(data.sizes["instance"])}
    _draw_curves(fourth, data, "shortfall", instances, COLOURS)
    first.set(yscale="log", ylabel="pulls $N_{a,t}$", title="Figure 1")
    second.set(ylabel=r"$\log_{10}$ of the mean of $1 - p^*_t$", title="Figure 2")
    third.set(yscale="log", ylabel="proportion of samples", title="Figure 3, second case")
    fourth.set(yscale="log", ylabel=r"$\Gamma^* - \Gamma(w_t)$", title="Figure 4")
    spread_ticks(third.yaxis)
    lines = [first.plot([], [], color=GREY, linestyle=style)[0] for style in ("-", "--")]
    names = ["exact", "the paper's method"]
    figure.legend(lines, names, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    tidy(first, second, third, fourth)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that the approximations cost pulls, above all since the closed form wastes budget."""
    boosted = data.boosted.values.astype(float)
    ratio = median_ratio_interval(boosted[APPROXIMATE], boosted[EXACT], LEVEL)
    change, low, high = (100 * (end - 1) for end in ratio)
    return [
        Finding(
            "the paper's approximations cost pulls",
            OURS,
            f"median pulls of boosted arms at t = {settings['horizon']:,}, by the paper's method against the exact, %",
            change,
            low,
            high,
            at_most=0.0,
            changed=_CHANGED,
        )
    ]
