"""How boosts are shared among arms, beside the shares w* that theory calls the best."""

from typing import TYPE_CHECKING, Any

import numpy as np

from feint.plot.labelled import By, axes_or_new, bandit_of_runs, colours_of, labelled, medians
from feint.support.figure_style import GREY, tidy
from feint.theory import optimal_boosting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 0.8  # of a group of bars
_HEADROOM = 1.25  # for the legend


def allocation(runs: Any, by: By = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of boosts that each arm got by the last checkpoint, beside w* (`optimal_boosting`).

    Bars are medians over runs, with 95 % intervals between order statistics, which hold for any law and need six runs.
    Shares tend to w* only as runs get long: before that the agent also boosts the best public arm, which w* leaves out.

    Parameters
    ----------
    runs
        What `simulate` or `open_sweep` returns, or a dictionary of label: runs; all of one instance.
    by
        The coordinate, or several, that bars are told apart by, as in `error_curves`.
    ax
        Matplotlib axes to draw on; new ones if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with one group of bars per arm and w* as dashes across it.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> axes = feint.plot.allocation(feint.simulate(bandit, epsilon=0.1, horizon=1000, replications=20))
    >>> len(axes.patches)
    4
    """
    found = labelled(runs, by, "boosts")
    bandit = bandit_of_runs(found[0][1])
    if any(bandit_of_runs(cell) != bandit for _, cell in found):
        raise ValueError("These runs are of several instances, each with its own w*; draw one at a time.")
    best = optimal_boosting(bandit).weights
    axes, arms = axes_or_new(ax), np.arange(bandit.n_arms)
    width = _WIDTH / len(found)
    for i, ((label, cell), colour) in enumerate(
        zip(found, colours_of(len(found), ordered=by == "epsilon"), strict=True)
    ):
        boosts = cell["boosts"].isel(time=-1).transpose("replication", "arm").values[:, : bandit.n_arms]
        totals = boosts.sum(1, keepdims=True)
        if not totals.all():
            raise ValueError("Some runs have made no boost by their last checkpoint; give a longer horizon.")
        middle, low, high = medians(boosts / totals)
        finite = np.isfinite(low)
        places = arms - _WIDTH / 2 + (i + 0.5) * width
        axes.bar(places, middle, width, color=colour, alpha=0.6, label=label or "median of runs")
        axes.vlines(places[finite], low[finite], high[finite], color=colour, linewidth=1.5)
    axes.hlines(
        best, arms - 0.45, arms + 0.45, color=GREY, linestyle="--", linewidth=1.5, label="w*, the best in the limit"
    )
    axes.set(xticks=arms, xlabel="arm, counted from 0", ylabel="share of boosts, median and 95 %")
    axes.set_ylim(0.0, axes.get_ylim()[1] * _HEADROOM)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
    tidy(axes)
    return axes
