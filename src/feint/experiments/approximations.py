"""What the paper's two approximations, Gauss–Hermite 32 and q-hat, do to its figures 1 and 2."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments import paper_method
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.resumable import simulate_resumably
from feint.explorers import RoundRobin, TopTwo
from feint.registry.instances import PAPER
from feint.support.intervals import bootstrap, normal_interval
from feint.support.style import COLOURS, GREY, band, new_figure, ordered_colours, spread_ticks, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "epsilon": 0.1,
    "epsilons": (0.01, 0.1, 1.0),
    "horizon": 2_000,
    "replications": 100,
    "replications_pulls": 600,  # of figure 1, enough to see a difference of 10 %
}
QUICK: dict[str, Any] = {"horizon": 600, "replications": 60}
TITLE = "What the paper's two approximations do to figures 1 and 2"
CAPTION = (
    "Pulls of boosted arms ({replications_pulls} seeds) and error probability ({replications} seeds), exactly "
    "(solid) and by the paper's quadrature and closed form (dashed); means with 95 % bands."
)
EXACT, APPROXIMATE = 0, 1  # along `approach`


def steps(settings: dict[str, Any]) -> int:
    """Return the trajectory-steps of the paper's method, which takes nearly all the time."""
    runs = settings["replications_pulls"] + len(settings["epsilons"]) * settings["replications"]
    return int(runs * (settings["horizon"] - len(settings["public"])))


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `pulls(approach, run, time, arm)` of figure 1 and `log_error(approach, epsilon, replication, time)` of
    figure 2.
    """
    bandit = Bandit(settings["public"], settings["private"])
    times = np.unique(np.geomspace(bandit.n_arms, settings["horizon"], 60).astype(np.int64))
    common: dict[str, Any] = {"horizon": settings["horizon"], "seed": seed}
    many, few = {"replications": settings["replications_pulls"]}, {"replications": settings["replications"]}
    boosted = list(range(1, bandit.n_arms))
    marks = [int(t) for t in times]
    exact = simulate_resumably(
        bandit, RoundRobin(boosted), epsilon=settings["epsilon"], checkpoints=times, **many, **common
    )
    paper = paper_method.run(
        bandit, epsilon=settings["epsilon"], checkpoints=marks, round_robin=boosted, tick=tick, **many, **common
    )
    pulls = np.stack([exact.pulls.values.astype(float), paper.pulls.values])
    errors = []
    for epsilon in settings["epsilons"]:
        ours = simulate_resumably(bandit, TopTwo(), epsilon=epsilon, checkpoints=times, **few, **common)
        theirs = paper_method.run(bandit, epsilon=epsilon, checkpoints=marks, tick=tick, **few, **common)
        errors.append(np.stack([ours.log_error.values, theirs.log_error.values]))
    return xr.Dataset(
        {
            "pulls": (("approach", "run", "time", "arm"), pulls),
            "log_error": (("approach", "epsilon", "replication", "time"), np.stack(errors, 1)),
        },
        coords={"time": times, "epsilon": list(settings["epsilons"])},
    )


def plot(data: xr.Dataset) -> "Figure":
    """Draw pulls of boosted arms (left) and the error probability (right), exact (solid) and the paper's (dashed)."""
    figure = new_figure(7.2, 3.5)
    left, right = figure.subplots(1, 2)
    t = data.time.values
    late = t >= 50
    for style, approach in (("-", EXACT), ("--", APPROXIMATE)):
        for arm in range(1, data.sizes["arm"]):
            values = data.pulls.isel(approach=approach, arm=arm).values
            band(
                left, t[late], values[:, late], COLOURS[arm], f"arm {arm}" if approach == EXACT else "", linestyle=style
            )
        for colour, epsilon in zip(ordered_colours(data.sizes["epsilon"]), data.epsilon.values, strict=True):
            values = data.log_error.isel(approach=approach).sel(epsilon=epsilon).values / np.log(10)
            label = rf"$\varepsilon = {epsilon:g}$" if approach == EXACT else ""
            band(right, t[late], values[:, late], colour, label, linestyle=style)
    left.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="pulls $N_{a,t}$")
    right.set(xscale="log", xlabel="time $t$", ylabel=r"$\log_{10}(1 - p^*_t)$, mean of seeds")
    for axes in (left, right):
        axes.plot([], [], color=GREY, label="exact")
        axes.plot([], [], color=GREY, linestyle="--", label="the paper's")
        axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
        spread_ticks(axes.xaxis)
    spread_ticks(left.yaxis)
    tidy(left, right)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that the approximations cost pulls, above all since the closed form wastes budget."""
    boosted = data.pulls.isel(time=-1, arm=slice(1, None)).sum("arm").values  # (approach, run)
    value, error = bootstrap(lambda medians: np.log(medians[APPROXIMATE] / medians[EXACT])[None], boosted)
    change, low, high = 100 * np.expm1(normal_interval(float(value[0]), float(error[0]), LEVEL))
    return [
        Finding(
            "the paper's approximations cost pulls",
            OURS,
            f"median pulls of boosted arms at t = {int(data.time[-1]):,}, by the paper's method against the exact, %",
            float(change),
            float(low),
            float(high),
            at_most=0.0,
        )
    ]
