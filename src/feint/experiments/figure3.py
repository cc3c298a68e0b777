"""Figure 3 of the paper: the impact of asymmetry, sample proportions for two public instances.

The figure and its claims number arms as printed, from 1; the data count from 0.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.bandit import Bandit
from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, OURS, Finding
from feint.experiments.resumable import simulate_resumably
from feint.support.figure_style import COLOURS, band, new_figure, tidy
from feint.support.intervals import median_interval

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
    "replications_asymmetric": 1_000,  # 100 are too few to see what is left of the difference of arms 3 and 4
}
QUICK: dict[str, Any] = {"horizon": 20_000, "replications": 40, "replications_asymmetric": 40}
FULL: dict[str, Any] = {"replications_asymmetric": 4_000}
CAPTION = (
    "Figure 3: sample proportions under two public instances, private means {private}; means of {replications} "
    "seeds with 95 % bands, and beside them of {replications_asymmetric} where there are more. Arms are numbered as in "
    "the paper, from 1, which is the best public one."
)
CASES = {"symmetric": "replications", "asymmetric": "replications_asymmetric"}  # and how many runs each has
_CHANGED_EARLY = ("6917879", "7b1734e")  # the early time; the statistic
_CHANGED_RUNS = ("7b1734e", "db7e8d4")  # the statistic; the numbers of runs


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
    """Draw a panel per public instance with the paper's seeds, and one with all seeds where there are more."""
    seeds, more = data.sizes["symmetric_run"], data.sizes["asymmetric_run"]
    shown = [("symmetric", seeds), ("asymmetric", seeds)] + [("asymmetric", more)] * (more > seeds)
    figure = new_figure(7.2, 3.0)
    panels = figure.subplots(1, len(shown), sharey=True)
    t = data.time.values
    late = t >= 100
    means = {"symmetric": "(0.6, 0.1, 0.1, 0.1)", "asymmetric": "(0.6, 0.5, 0.0, 0.3)"}
    for axes, (case, number) in zip(panels, shown, strict=True):
        for arm in range(4):
            values = data[case].isel(arm=arm).values[:number]
            style = "--" if arm == 3 else "-"  # the last two arms are alike in the symmetric instance
            band(axes, t[late], values[:, late], COLOURS[arm], f"arm {arm + 1}", linestyle=style)
        axes.set(xscale="log", yscale="log", xlabel="time $t$")
        axes.set_title(rf"$\mu^{{\mathrm{{pub}}}} = {means[case]}$" + f"\n{number:,} seeds", fontsize=9)
    panels[0].set_ylabel("proportion of samples")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    tidy(*panels)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that under asymmetry arm 2 is pulled more, and arm 3 less than arm 4: early, and less and less so.

    Arms 3 and 4 have the same private gap, so information balance makes their pulls equal in the limit. There they
    differ only in the boosts that they take.
    """
    last = int(data.time[-1])
    final = [np.log(data[case].isel(time=-1, arm=1).values) for case in CASES]
    paired = min(each.size for each in final)  # the same seeds
    more = final[1][:paired] - final[0][:paired]
    found = [
        Finding(
            "arm 2 is pulled more under asymmetry",
            "when pulling arms 3 and 4 becomes harder compared to arm 2, Algorithm 1 generates more samples from arm 2",
            f"median log ratio of arm 2's proportions, asymmetric to symmetric, t = {last:,}, {paired:,} seeds",
            *median_interval(more, LEVEL),
            at_least=0.0,
            changed=_CHANGED_RUNS,
        )
    ]
    differences = []
    for name, time in (("early", settings["early"]), ("in the long run", last)):
        at = data.asymmetric.sel(time=time, method="nearest")
        less = np.log(at.isel(arm=3).values / at.isel(arm=2).values)
        differences.append(less)
        found.append(
            Finding(
                f"arm 3 is pulled less than arm 4, {name}",
                "arm 3 is pulled less frequently compared to arm 4, as it is harder to pull",
                f"median log ratio of the proportions of arms 4 and 3, t = {int(at.time):,}, {less.size:,} seeds",
                *median_interval(less, LEVEL),
                at_least=0.0,
                changed=_CHANGED_EARLY if name == "early" else _CHANGED_RUNS,
            )
        )
    early, late = differences
    return [
        *found,
        Finding(
            "arms 3 and 4 come closer",
            OURS,
            f"median fall of the log ratio of arms 4 and 3 from t = {settings['early']:,} to {last:,}",
            *median_interval(early - late, LEVEL),
            at_least=0.0,
            changed=("6917879", *_CHANGED_RUNS),
        ),
    ]
