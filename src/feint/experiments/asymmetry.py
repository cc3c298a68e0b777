"""Figure 3 of the paper: the impact of asymmetry, sample proportions for two public instances."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.resumable import simulate_resumably
from feint.support.intervals import median_interval
from feint.support.style import COLOURS, band, new_figure, tidy

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
    "replications_asymmetric": 1_000,  # 100 are too few to see what is left of the difference between arms 2 and 3
}
QUICK: dict[str, Any] = {"horizon": 20_000, "replications": 40, "replications_asymmetric": 40}
TITLE = "Impact of asymmetry"
CAPTION = (
    "Figure 3: sample proportions under two public instances, private means {private}; means of {replications} "
    "seeds (left) and {replications_asymmetric} (right) with 95 % bands. Arm 0 is the best public one."
)
CASES = {"symmetric": "replications", "asymmetric": "replications_asymmetric"}  # and how many runs each has


def steps(settings: dict[str, Any]) -> int:
    """Return the number of trajectory-steps, for the progress bar."""
    return int(settings["horizon"] * sum(settings[runs] for runs in CASES.values()))


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return the proportions of samples, `symmetric` and `asymmetric`, each (its own runs, time, arm)."""
    parts = {}
    for case, number in CASES.items():
        runs = simulate_resumably(
            Bandit(settings[case], settings["private"]),
            epsilon=settings["epsilon"],
            horizon=settings["horizon"],
            replications=settings[number],
            seed=seed,
            method="event",
            progress=tick,
        )
        parts[case] = (f"{case}_run", "time", "arm"), (runs.pulls / runs.time).values
    return xr.Dataset(parts, coords={"time": runs.time.values})


def plot(data: xr.Dataset) -> "Figure":
    """Draw one panel per public instance."""
    figure = new_figure(7.2, 3.0)
    panels = figure.subplots(1, 2, sharey=True)
    t = data.time.values
    late = t >= 100
    means = {"symmetric": "(0.6, 0.1, 0.1, 0.1)", "asymmetric": "(0.6, 0.5, 0.0, 0.3)"}
    for axes, case in zip(panels, CASES, strict=True):
        for arm in range(4):
            values = data[case].isel(arm=arm).values
            style = "--" if arm == 3 else "-"  # arms 2 and 3 are alike in the symmetric instance
            band(axes, t[late], values[:, late], COLOURS[arm], f"arm {arm}", linestyle=style)
        axes.set(xscale="log", yscale="log", xlabel="time $t$", title=rf"$\mu^{{\mathrm{{pub}}}} = {means[case]}$")
    panels[0].set_ylabel("proportion of samples")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    tidy(*panels)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that under asymmetry arm 1 is pulled more, and arm 2 less than arm 3: early, and less and less so.

    Arms 2 and 3 have the same private gap, so information balance makes their pulls equal in the limit. There they
    differ only in the boosts that they take.
    """
    last = int(data.time[-1])
    final = [np.log(data[case].isel(time=-1, arm=1).values) for case in CASES]
    paired = min(each.size for each in final)  # the same seeds
    more = final[1][:paired] - final[0][:paired]
    found = [
        Finding(
            "arm 1 is pulled more under asymmetry",
            "when pulling arms 3 and 4 becomes harder compared to arm 2, Algorithm 1 generates more samples from arm 2",
            f"median log ratio of arm 1's proportions, asymmetric to symmetric, t = {last:,}",
            *median_interval(more, LEVEL),
            at_least=0.0,
        )
    ]
    differences = []
    for name, time in (("early", settings["early"]), ("in the long run", last)):
        at = data.asymmetric.sel(time=time, method="nearest")
        less = np.log(at.isel(arm=3).values / at.isel(arm=2).values)
        differences.append(less)
        found.append(
            Finding(
                f"arm 2 is pulled less than arm 3, {name}",
                "arm 3 is pulled less frequently compared to arm 4, as it is harder to pull",
                f"median log ratio of the proportions of arms 3 and 2, t = {int(at.time):,}",
                *median_interval(less, LEVEL),
                at_least=0.0,
                exploratory=name == "early",
            )
        )
    early, late = differences
    return [
        *found,
        Finding(
            "arms 2 and 3 come closer",
            OURS,
            f"median fall of that log ratio from t = {settings['early']:,} to {last:,}",
            *median_interval(early - late, LEVEL),
            at_least=0.0,
        ),
    ]
