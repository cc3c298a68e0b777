"""How figures look: one palette that colour-blind readers can tell apart, thin axes, and 95 % bands."""

from typing import TYPE_CHECKING, Any

import numpy as np

from feint._types import FloatArray
from feint.support.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# Okabe & Ito (2008), in an order that keeps neighbours apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
GREY = "#777777"


def ordered_colours(n: int) -> list[str]:
    """Return n colours from dark to light, for things in order, such as budgets: viridis as far as it stands out from
    white, and from black where a page inverts figures.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](x)) for x in np.linspace(0.0, 0.75, n)]


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, laid out so that nothing overlaps."""
    need("matplotlib", "A figure")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def band(axes: "Axes", x: FloatArray, values: FloatArray, colour: str, label: str, **line: Any) -> None:
    """Draw the mean over replications (first axis) with its 95 % band."""
    from scipy import stats

    mean = values.mean(0)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(0, ddof=1) / np.sqrt(len(values))
    axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, mean, color=colour, label=label, **line)


def band_of_logs(axes: "Axes", x: FloatArray, logs: FloatArray, colour: str, label: str, **line: Any) -> None:
    """Draw log₁₀ of the mean of e^logs over replications (first axis) with its 95 % band.

    It is the band of `band` for the values themselves, which may be too small for a float. Where it reaches 0, which
    no logarithm does, it goes to the bottom of the axes: set their limits first.
    """
    from scipy import stats

    n = len(logs)
    mean = np.logaddexp.reduce(logs, 0) - np.log(n)
    spread = np.sqrt(np.expm1(np.maximum(np.logaddexp.reduce(2 * (logs - mean), 0) - np.log(n), 0.0)) / (n - 1))
    half = stats.t.ppf(0.975, n - 1) * spread
    low = np.log10(np.maximum(1 - half, 1e-300)) + mean / np.log(10)
    high = np.log10(1 + half) + mean / np.log(10)
    axes.fill_between(x, np.maximum(low, axes.get_ylim()[0]), high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, mean / np.log(10), color=colour, label=label, **line)


def draw_intervals(
    axes: "Axes", x: FloatArray, points: list[tuple[float, float, float]], colour: str, **line: Any
) -> None:
    """Draw points with their intervals; infinite values are left out."""
    middle, low, high = np.where(np.isinf(points), np.nan, points).T
    axes.vlines(x, low, high, color=colour, linewidth=1.2, alpha=0.6)
    axes.plot(x, middle, color=colour, markersize=3.5, **line)


def spread_ticks(axis: "Axis") -> None:
    """Put ticks at 1 and 3 times powers of ten, in plain numbers, on a log axis too short for powers alone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_locator(NullLocator())


def tidy(*all_axes: "Axes") -> None:
    """Remove the frame that carries no information."""
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
