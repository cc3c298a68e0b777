"""The figure of `frontier`."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.experiments.claims import FloatArray, mean_interval
from feint.experiments.frontier_claims import INSTANCES, gained, normal_power, powers
from feint.experiments.frontier_statistics import share_interval
from feint.intervals import median_interval
from feint.numerics import boost_probability
from feint.style import COLOURS, GREY, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_APART = 1.07  # schedules are drawn side by side, each at this multiple of the KL of the one before


def plot(data: xr.Dataset) -> "Figure":
    """Above: time to identify and to be detected. Below: pulls gained against total KL, and power against its bound."""
    figure = new_figure(7.2, 6.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(6, 5))
    left = figure.add_subplot(grid[0, 0])
    right = figure.add_subplot(grid[0, 1], sharey=left)
    pulls, power = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    for i, (axes, instance) in enumerate(zip((left, right), INSTANCES, strict=True)):
        _times(axes, data.isel(instance=i))
        axes.set_title(f"{instance[0].upper()}{instance[1:]}", fontsize=9)
    left.set_ylabel("median time (pulls)")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False, fontsize=7.5)
    _gained(pulls, data)
    pulls.set_title(f"Pulls of one boosted arm, $T = {_power_of_ten(data.attrs['pulls_horizon'])}$", fontsize=9)
    _power(power, data)
    power.set_title(f"Tests of level {100 * data.attrs['alpha']:g} %", fontsize=9)
    tidy(left, right, pulls, power)
    return figure


def _power_of_ten(number: int) -> str:
    exponent = round(np.log10(number))
    return f"10^{{{exponent}}}" if number == 10**exponent else f"{number}"


def _intervals(axes: "Axes", x: FloatArray, points: list[tuple[float, float, float]], colour: str, **line: Any) -> None:
    """Points with their 95 % intervals; what is infinite is not drawn."""
    middle, low, high = np.where(np.isinf(points), np.nan, points).T
    axes.vlines(x, low, high, color=colour, linewidth=1.2, alpha=0.6)
    axes.plot(x, middle, color=colour, markersize=3.5, **line)


def _times(axes: "Axes", data: xr.Dataset) -> None:
    x = data.epsilon.values
    for colour, delta in zip((COLOURS[5], COLOURS[0], COLOURS[6]), data.delta.values, strict=False):
        at = data.sel(delta=delta)
        points = [median_interval(times) for times in at.identified.values]
        _intervals(axes, x, points, colour, marker="o", linestyle="", label=rf"sure, $\delta$ = {100 * delta:g} %")
        axes.plot(x, at.planned, color=colour, linewidth=1, linestyle="--")
    axes.plot([], [], color=GREY, linewidth=1, linestyle="--", label="planned")
    detected = [median_interval(times) for times in data.detected.values]
    _intervals(axes, x, detected, COLOURS[1], marker="s", linestyle="-", linewidth=1, label="detected")
    floor = [median_interval(times)[0] for times in data.floor.values]
    axes.plot(x, floor, color=COLOURS[1], linewidth=1, linestyle=":", label="floor")
    axes.set(xscale="log", yscale="log", xlabel=r"KL budget a step $\varepsilon$")


def _gained(axes: "Axes", data: xr.Dataset) -> None:
    curve = data.attrs["first_order_rate"] * np.sqrt(data.spent.values)
    fluid = (data.fluid.values - data.attrs["own_fluid"]) / curve
    middle = []
    for i, values in enumerate(gained(data)):
        x, colour = data.spent.values[i] * _APART ** (i - 1.5), COLOURS[i]
        points = [median_interval(sample) for sample in values]
        middle += [median for median, _, _ in points]
        _intervals(axes, x, points, colour, marker="o", linestyle="", label=_label(data, i))
        axes.plot(x, values.mean(1), color=colour, marker="x", markersize=3, markeredgewidth=0.8, linestyle="")
        axes.plot(x, fluid[i], color=colour, linewidth=1, linestyle="--")
    axes.plot([], [], color=GREY, marker="o", markersize=3.5, linestyle="", label="median")
    axes.plot([], [], color=GREY, marker="x", markersize=3, markeredgewidth=0.8, linestyle="", label="mean")
    axes.plot([], [], color=GREY, linewidth=1, linestyle="--", label="fluid")
    axes.axhline(1.0, color=GREY, linewidth=1, linestyle=":")
    axes.set(xscale="log", xlabel="total KL spent $B$", ylabel=r"gain ÷ $(2\sigma/\Delta)\sqrt{B}$")
    axes.set_ylim(min(-0.3, *middle) - 0.1, max(1.6, *middle) + 0.7)
    axes.legend(frameon=False, fontsize=7, loc="upper left", ncols=2)


def _label(data: xr.Dataset, schedule: int) -> str:
    exponent, until = float(data.exponent[schedule]), float(data.until[schedule])
    if until < 1:
        return rf"constant until ${until:g}\,T$"
    return rf"$\varepsilon_t \propto t^{{-{exponent:g}}}$" if exponent else r"constant $\varepsilon$"


def _power(axes: "Axes", data: xr.Dataset) -> None:
    x = data.power_spent.values
    grid = np.geomspace(x.min(), x.max(), 200)
    alpha = data.attrs["alpha"]
    axes.plot(grid, boost_probability(alpha, grid), color=GREY, label=r"bound $q^*(\alpha; B)$")
    axes.plot(grid, normal_power(grid, alpha), color=COLOURS[0], linewidth=1, linestyle="--", label="shifted normals")
    observed, best = powers(data)
    known = [mean_interval(values) for values in best]
    _intervals(axes, x, known, COLOURS[0], marker="D", linestyle="", label="the best test, if all is known")
    caught = [share_interval(int(values.sum()), values.size) for values in observed]
    _intervals(axes, x, caught, COLOURS[1], marker="s", linestyle="-", linewidth=1, label="the observer's test")
    axes.axhline(alpha, color=GREY, linewidth=0.8, linestyle=":")
    axes.text(1.01, alpha, r"$\alpha$", transform=axes.get_yaxis_transform(), color=GREY, fontsize=8, va="center")
    axes.set(xscale="log", xlabel="total KL spent $B$", ylabel="power", ylim=(-0.03, 1.05))
    axes.legend(frameon=False, fontsize=7, loc="upper left")
