"""Figure 3 of the paper: the impact of asymmetry, sample proportions for two public instances, 100 seeds."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments.claims import Claim, mean_interval, not_below
from feint.experiments.contract import Tick
from feint.experiments.kept import simulate
from feint.style import COLOURS, band, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "private": (0.2, 0.5, 0.0, 0.0),
    "symmetric": (0.6, 0.1, 0.1, 0.1),
    "asymmetric": (0.6, 0.5, 0.0, 0.3),
    "epsilon": 0.1,
    "early": 3_000,
    "horizon": 300_000,
    "replications": 100,
}
QUICK: dict[str, Any] = {"horizon": 20_000, "replications": 40}
TITLE = "Impact of asymmetry"
CASES = ("symmetric", "asymmetric")  # along `case`


def steps(settings: dict[str, Any]) -> int:
    """Trajectory-steps in all, for the progress bar."""
    return int(len(CASES) * settings["horizon"] * settings["replications"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """`proportion(case, replication, time, arm)` of all samples."""
    parts = []
    for case in CASES:
        runs = simulate(
            Bandit(settings[case], settings["private"]),
            epsilon=settings["epsilon"],
            horizon=settings["horizon"],
            replications=settings["replications"],
            seed=seed,
            progress=tick,
        )
        parts.append(runs.pulls / runs.time)
    return xr.Dataset(
        {"proportion": (("case", "replication", "time", "arm"), np.stack([part.values for part in parts]))},
        coords={"time": runs.time.values},
    )


def plot(data: xr.Dataset) -> "Figure":
    """One panel a public instance; arm 1, pulled nearly always, is left out, for it would hide the others."""
    figure = new_figure(7.2, 3.0)
    panels = figure.subplots(1, 2, sharey=True)
    t = data.time.values
    late = t >= 100
    means = {"symmetric": "(0.6, 0.1, 0.1, 0.1)", "asymmetric": "(0.6, 0.5, 0.0, 0.3)"}
    for i, (axes, case) in enumerate(zip(panels, CASES, strict=True)):
        for arm in range(1, 4):
            values = data.proportion.isel(case=i, arm=arm).values
            band(axes, t[late], values[:, late], COLOURS[arm], f"arm {arm + 1}")
        axes.set(xscale="log", yscale="log", xlabel="time $t$", title=rf"$\mu^{{\mathrm{{pub}}}} = {means[case]}$")
    panels[0].set_ylabel("proportion of samples")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    tidy(*panels)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Claim]:
    """Under asymmetry arm 2 is pulled more than before, and arm 3 less than arm 4: early, but not for good.

    Arms 3 and 4 have the same private gap, so information balance makes their pulls equal in the limit: what differs
    there is the boosts that they take.
    """
    final = data.proportion.isel(time=-1)
    more = np.log(final.isel(case=1, arm=1).values / final.isel(case=0, arm=1).values)
    found = [
        Claim(
            "arm 2 is pulled more under asymmetry",
            "when arms 3 and 4 become harder, more samples come from arm 2",
            f"mean log ratio of arm 2's proportions, asymmetric to symmetric, t = {int(data.time[-1]):,}",
            *mean_interval(more),
            not_below(more, 0.0) and float(more.mean()) > 0,
        )
    ]
    for name, time in (("early", settings["early"]), ("and in the long run", int(data.time[-1]))):
        at = data.proportion.sel(time=time, method="nearest")
        less = np.log(at.isel(case=1, arm=3).values / at.isel(case=1, arm=2).values)
        found.append(
            Claim(
                f"arm 3 is pulled less than arm 4, {name}",
                "arm 3 is pulled less frequently than arm 4, as it is harder to pull",
                f"mean log ratio of the proportions of arms 4 and 3, t = {int(at.time):,}",
                *mean_interval(less),
                not_below(less, 0.0, 2) and float(less.mean()) > 0,
            )
        )
    return found
