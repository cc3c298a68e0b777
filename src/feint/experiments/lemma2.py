"""Lemma 2: successes of a Bernoulli process whose odds fall with every success, against the limit √(2cT)."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.experiments.contract import Tick
from feint.experiments.findings import LEVEL, Finding
from feint.support.figure_style import COLOURS, GREY, band, new_figure, tidy
from feint.support.intervals import median_interval
from feint.theory import bernoulli_limit, bernoulli_process

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {
    "parameters": ((0.5, 1.0), (2.0, 2.0), (2.0, 50.0)),
    "log10_horizon": 11,
    "replications": 200,
}
QUICK: dict[str, Any] = {"log10_horizon": 10, "replications": 50}
FULL: dict[str, Any] = {}
CAPTION = (
    "Successes of a Bernoulli process with odds c/(M + M₀) against the limit √(2cT); means of {replications} runs "
    "with 95 % bands."
)
TOLERANCE = 0.01
_CHANGED = ("6917879", "7b1734e")  # the horizon; the statistic


def steps(settings: dict[str, Any]) -> int:
    """Return the number of processes."""
    return len(settings["parameters"])


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return `ratio(process, replication, time)` = M_T/√(2cT)."""
    times = np.unique(np.logspace(1, settings["log10_horizon"], 60).astype(np.int64))
    ratios = []
    for success, offset in settings["parameters"]:
        made = bernoulli_process(success, offset, times, replications=settings["replications"], seed=seed)
        ratios.append(made / bernoulli_limit(success, times))
        tick(1)
    return xr.Dataset(
        {"ratio": (("process", "replication", "time"), np.array(ratios))},
        coords={
            "time": times,
            "success": ("process", [c for c, _ in settings["parameters"]]),
            "offset": ("process", [m for _, m in settings["parameters"]]),
        },
    )


def plot(data: xr.Dataset) -> "Figure":
    """Draw the ratio against time."""
    figure = new_figure(4.6, 3.0)
    axes = figure.subplots()
    for process, colour in zip(range(data.sizes["process"]), COLOURS, strict=False):
        one = data.isel(process=process)
        band(
            axes,
            data.time.values,
            one.ratio.values,
            colour,
            f"$c$ = {float(one.success):g}, $M_0$ = {float(one.offset):g}",
        )
    axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="trials $T$", ylabel=r"$M_T\,/\,\sqrt{2cT}$", ylim=(0, 1.15))
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    tidy(axes)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that the ratio is near its limit at the end."""
    found = []
    for process in range(data.sizes["process"]):
        one = data.isel(process=process, time=-1)
        found.append(
            Finding(
                f"Lemma 2, c = {float(one.success):g}, M₀ = {float(one.offset):g}",
                "lim_{T → ∞} M_T/√(2cT) = 1 a.s.",
                f"median M_T/√(2cT) at T = {float(one.time):.0e}",
                *median_interval(one.ratio.values, LEVEL),
                at_least=1 - TOLERANCE,
                at_most=1 + TOLERANCE,
                changed=_CHANGED,
            )
        )
    return found
