"""The share of runs that the observer has noticed, over time."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from feint.plot.labelled import LEVEL, By, axes_or_new, colours_of, labelled
from feint.support.figure_style import tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def detection_curves(runs: Any, by: By = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of runs that were noticed by each time, with a 95 % band around the whole curve.

    The band is ± √(log(2/0.05)/(2n)) for n runs: the true curve leaves it anywhere with probability at most 5 %, for
    any law (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant). A run that stopped at `delta` was watched until
    then, and counts as not noticed after it.

    Parameters
    ----------
    runs
        What `simulate` with `observe=True` or `open_sweep` returns, or a dictionary of label: runs.
    by
        The coordinate, or several, that curves are told apart by, as in `error_curves`.
    ax
        Matplotlib axes to draw on; new ones if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with one line of steps per curve; x is logarithmic.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = feint.simulate(bandit, epsilon=0.3, horizon=300, replications=20, observe=True)
    >>> axes = feint.plot.detection_curves({"ε = 0.3": runs})
    >>> times, shares = axes.get_lines()[0].get_data()
    >>> bool(shares[-1] == runs.detection_time.notnull().mean())
    True
    """
    found = labelled(runs, by, "detection_time")
    axes = axes_or_new(ax)
    for (label, cell), colour in zip(found, colours_of(len(found), ordered=by == "epsilon"), strict=True):
        alarms, n = cell["detection_time"].values, cell.sizes["replication"]
        came = np.sort(alarms[~np.isnan(alarms)])
        times = np.concatenate([cell["time"].values[:1], came, cell["time"].values[-1:]])
        shares = np.searchsorted(came, times, side="right") / n
        half = math.sqrt(math.log(2 / LEVEL) / (2 * n))
        low, high = np.clip(shares - half, 0.0, 1.0), np.clip(shares + half, 0.0, 1.0)
        axes.fill_between(times, low, high, step="post", color=colour, alpha=0.1, linewidth=0)
        axes.plot(times, shares, drawstyle="steps-post", color=colour, label=label)
    axes.set(xscale="log", ylim=(-0.02, 1.02), xlabel="pulls", ylabel="share of runs noticed, with a 95 % band")
    if any(label for label, _ in found):
        axes.legend(frameon=False, fontsize=8)
    tidy(axes)
    return axes
