"""Curves of the posterior error over time."""

import math
from typing import TYPE_CHECKING, Any

from feint.plot.labelled import By, axes_or_new, colours_of, draw_band, labelled, medians
from feint.support.figure_style import tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_curves(runs: Any, by: By = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the posterior error over time: log₁₀ of the median over runs, with 95 % intervals that hold for any law.

    The intervals lie between two order statistics. Each holds at its own time, not all at once, and needs six runs.

    Parameters
    ----------
    runs
        What `simulate` or `open_sweep` returns, or a dictionary of label: runs.
    by
        The coordinate, or several, that curves are told apart by, such as "epsilon". If not given, the curves of a
        sweep are told apart by all coordinates in which they differ.
    ax
        Matplotlib axes to draw on; new ones if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with one line per curve; x is logarithmic.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> budgets = {f"ε = {e}": feint.simulate(bandit, epsilon=e, horizon=1000, replications=20) for e in (0.1, 1.0)}
    >>> axes = feint.plot.error_curves(budgets)
    >>> [line.get_label() for line in axes.get_lines()]
    ['ε = 0.1', 'ε = 1.0']
    """
    found = labelled(runs, by, "log_error")
    axes = axes_or_new(ax)
    for (label, cell), colour in zip(found, colours_of(len(found), ordered=by == "epsilon"), strict=True):
        values = cell["log_error"].transpose("replication", "time").values / math.log(10)
        draw_band(axes, cell["time"].values, medians(values), colour, label)
    axes.set(xscale="log", xlabel="pulls", ylabel="log₁₀ of the posterior error, median and 95 %")
    if any(label for label, _ in found):
        axes.legend(frameon=False, fontsize=8)
    tidy(axes)
    return axes
