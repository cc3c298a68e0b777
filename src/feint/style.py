"""How figures look: one palette that colour-blind readers can tell apart, thin axes, bands of 95 %."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]

# Okabe & Ito (2008), in an order that keeps neighbours apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
GREY = "#777777"


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure in inches, laid out so that nothing overlaps."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def band(axes: "Axes", x: FloatArray, values: FloatArray, colour: str, label: str, **line: Any) -> None:
    """Mean over replications (first axis) with its 95 % interval."""
    from scipy import stats

    mean = values.mean(0)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(0, ddof=1) / np.sqrt(len(values))
    axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, mean, color=colour, label=label, **line)


def tidy(*all_axes: "Axes") -> None:
    """Remove the frame that carries no information."""
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
