"""Figure 1 of the paper: pulls of boosted arms against the rate φ of Theorem 1, and why φ underestimates them.

The figure and its claims number arms as printed, from 1; the data count from 0.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.resumable import simulate_resumably
from feint.explorers import RoundRobin
from feint.registry.instance_files import PAPER
from feint.support.figure_style import COLOURS, GREY, band, new_figure, tidy
from feint.support.intervals import median_interval
from feint.theory import predicted_pulls
from feint.theory.rates import ORDERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "public": PAPER.public,
    "private": PAPER.private,
    "epsilon": 0.1,
    "horizon": 1_000_000_000,
    "replications": 50,  # the paper's, which are drawn
    "replications_claims": 50,
}
QUICK: dict[str, Any] = {"horizon": 1_000_000, "replications": 20, "replications_claims": 20}
FULL: dict[str, Any] = {"replications_claims": 200}
CAPTION = (
    "Figure 1: pulls of boosted arms against the rate φ of Theorem 1, and against two sharper predictions; means "
    "of {replications} seeds with 95 % bands. Below, their ratio to φ. The paper does not say how long its "
    "runs are. Claims use {replications_claims} seeds. Arms are numbered as printed, from 1."
)
_DRAWN = 100  # the figure begins here
_CHANGED = ("edeb4ab", "6122dd6", "7b1734e")  # horizons, and what is claimed over them


def steps(settings: dict[str, Any]) -> int:
    """Return the number of trajectory-steps, for the progress bar."""
    return int(settings["horizon"] * settings["replications_claims"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `pulls(replication, time, arm)` of the boosted arms, and the predictions of each order (time, arm)."""
    bandit = Bandit(settings["public"], settings["private"])
    boosted = [arm for arm in range(bandit.n_arms) if arm != bandit.best_public]
    runs = simulate_resumably(
        bandit,
        RoundRobin(boosted),
        epsilon=settings["epsilon"],
        horizon=settings["horizon"],
        replications=settings["replications_claims"],
        seed=seed,
        method="event",
        progress=tick,
    )
    weights = np.zeros(bandit.n_arms)
    weights[boosted] = 1 / len(boosted)
    data = runs[["pulls"]].sel(arm=boosted)
    data.attrs["drawn"] = settings["replications"]
    for order in ORDERS:
        predicted = predicted_pulls(bandit, weights, settings["epsilon"], runs.time.values, order=order)
        data[order] = (("time", "arm"), predicted[:, boosted])
    return data


def plot(data: xr.Dataset) -> "Figure":
    """Draw pulls against time on log axes (above) and their ratio to φ (below)."""
    figure = new_figure(7.2, 4.4)
    panels = figure.subplots(2, data.sizes["arm"], sharex=True, sharey="row", height_ratios=(3, 2))
    t = data.time.values
    late = t >= _DRAWN
    styles = {"first": (":", "φ, first order"), "second": ("--", "second order"), "fluid": ("-.", "fluid")}
    for column, arm in enumerate(data.arm.values):
        above, below = panels[:, column]
        pulls = data.pulls.sel(arm=arm).values[: data.attrs["drawn"]].astype(float)
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


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that φ underestimates, and that the ratio falls towards 1. Use medians, since a few bad starts move a mean.

    The paper names no times, so both claims are about all that the figure shows. In the end φ is right: it is no longer
    an underestimate, and gets no closer. The claims were worded after this had been seen.
    """
    found = []
    t = data.time.values
    late = t >= _DRAWN
    since = f"t = {t[late][0]:,} to {t[-1]:,}"
    for arm in data.arm.values:
        pulls, printed = data.pulls.sel(arm=arm).values, arm + 1
        ratio = pulls / data["first"].sel(arm=arm).values
        off = 100 * (pulls[:, -1] / float(data["fluid"].sel(arm=arm)[-1]) - 1)
        found += [
            Finding(
                f"φ underestimates arm {printed}",
                "the φ_{a,t} rate underestimates the actual expected value",
                f"median over seeds of the mean of N/φ over log t, {since}; a mean over seeds has no interval for any "
                "law",
                *median_interval(ratio[:, late].mean(1), LEVEL),
                at_least=1.0,
                changed=_CHANGED,
            ),
            Finding(
                f"N/φ of arm {printed} falls towards 1",
                "they get closer as time increases",
                f"median fall of N/φ from {since}",
                *median_interval(ratio[:, late][:, 0] - ratio[:, -1], LEVEL),
                at_least=0.0,
                changed=_CHANGED,
            ),
            Finding(
                f"φ of arm {printed} is within 5 % in the end",
                OURS,
                f"median N/φ at t = {t[-1]:,}",
                *median_interval(ratio[:, -1], LEVEL),
                at_least=0.95,
                at_most=1.05,
                changed=_CHANGED,
            ),
            Finding(
                f"the fluid prediction of arm {printed} is within 5 %",
                OURS,
                f"simulated median against the fluid prediction at t = {t[-1]:,}, %",
                *median_interval(off, LEVEL),
                at_least=-5.0,
                at_most=5.0,
                changed=_CHANGED,
            ),
        ]
    return found
