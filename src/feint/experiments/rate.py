"""Figure 1 of the paper: pulls of boosted arms against the rate φ of Theorem 1, and why φ underestimates them."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments.claims import Claim, mean_interval, not_below, within
from feint.experiments.contract import Tick
from feint.experiments.kept import simulate
from feint.explorers import RoundRobin
from feint.style import COLOURS, GREY, band, new_figure, tidy
from feint.theory import predicted_pulls

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": (0.6, 0.3, 0.0, 0.2),
    "private": (0.2, 0.5, 0.1, 0.0),
    "epsilon": 0.1,
    "boosted": (1, 2, 3),
    "horizon": 1_000_000_000,
    "replications": 50,
}
QUICK: dict[str, Any] = {"horizon": 1_000_000, "replications": 20}
TITLE = "The rate of Theorem 1"
ORDERS = ("first", "second", "fluid")


def steps(settings: dict[str, Any]) -> int:
    """Trajectory-steps in all, for the progress bar."""
    return int(settings["horizon"] * settings["replications"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """`pulls(replication, time, arm)` of the boosted arms, and the predictions of each order (time, arm)."""
    bandit = Bandit(settings["public"], settings["private"])
    boosted = list(settings["boosted"])
    runs = simulate(
        bandit,
        RoundRobin(boosted),
        epsilon=settings["epsilon"],
        horizon=settings["horizon"],
        replications=settings["replications"],
        seed=seed,
        method="event",
        progress=tick,
    )
    weights = np.zeros(bandit.n_arms)
    weights[boosted] = 1 / len(boosted)
    data = runs[["pulls"]].sel(arm=boosted)
    for order in ORDERS:
        predicted = predicted_pulls(bandit, weights, settings["epsilon"], runs.time.values, order=order)
        data[order] = (("time", "arm"), predicted[:, boosted])
    return data


def plot(data: xr.Dataset) -> "Figure":
    """Above: pulls against time on log axes. Below: their ratio to φ."""
    figure = new_figure(7.2, 4.4)
    panels = figure.subplots(2, data.sizes["arm"], sharex=True, sharey="row", height_ratios=(3, 2))
    t = data.time.values
    late = t >= 100
    styles = {"first": (":", "φ, first order"), "second": ("--", "second order"), "fluid": ("-.", "fluid")}
    for column, arm in enumerate(data.arm.values):
        above, below = panels[:, column]
        pulls = data.pulls.sel(arm=arm).values.astype(float)
        first = data["first"].sel(arm=arm).values
        band(above, t[late], pulls[:, late], COLOURS[0], "simulated")
        band(below, t[late], (pulls / first)[:, late], COLOURS[0], "simulated")
        for colour, (order, (style, label)) in zip((GREY, *COLOURS[1:]), styles.items(), strict=False):
            values = data[order].sel(arm=arm).values
            above.plot(t[late], values[late], color=colour, linestyle=style, linewidth=1.2, label=label)
            below.plot(t[late], (values / first)[late], color=colour, linestyle=style, linewidth=1.2)
        above.set(xscale="log", yscale="log", title=f"arm {arm + 1}")
        below.set(xscale="log", xlabel="time $t$", ylim=(0.8, 5))
    panels[0, 0].set_ylabel("pulls $N_{a,t}$")
    panels[1, 0].set_ylabel(r"$N_{a,t}\,/\,\phi_{a,t}$")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    tidy(*panels.flat)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Claim]:
    """φ underestimates, and the ratio falls towards 1."""
    found = []
    t = data.time.values
    early = int(np.searchsorted(t, t[-1] / 10))
    arms = data.sizes["arm"]
    for arm in data.arm.values:
        ratio = data.pulls.sel(arm=arm).values / data["first"].sel(arm=arm).values
        found.append(
            Claim(
                f"φ underestimates arm {arm + 1}",
                "φ underestimates the actual expected value",
                f"mean N/φ at t = {t[-1]:,}",
                *mean_interval(ratio[:, -1]),
                not_below(ratio[:, -1], 1.0, arms),
            )
        )
        fall = ratio[:, early] - ratio[:, -1]
        found.append(
            Claim(
                f"N/φ of arm {arm + 1} falls towards 1",
                "they get closer as time increases",
                f"fall of N/φ from t = {t[early]:,} to {t[-1]:,}",
                *mean_interval(fall),
                not_below(fall, 0.0, arms) and float(ratio[:, -1].mean()) < float(ratio[:, early].mean()),
            )
        )
        fluid = data.pulls.sel(arm=arm).values[:, -1] / float(data["fluid"].sel(arm=arm)[-1]) - 1
        mean, low, high = mean_interval(100 * fluid)
        found.append(
            Claim(
                f"the fluid prediction of arm {arm + 1} is within 5 %",
                "(not in the paper)",
                f"simulated mean against the fluid prediction at t = {t[-1]:,}, %",
                mean,
                low,
                high,
                within(100 * fluid, -5.0, 5.0, arms),
            )
        )
    return found
