"""Two agents on the same seeds: differences run by run."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from feint.plot.labelled import axes_or_new, draw_band, labelled, medians
from feint.support.figure_style import COLOURS, GREY, tidy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def compare(
    a: Any,
    b: Any,
    *,
    variable: str = "log_error",
    labels: tuple[str, str] = ("a", "b"),
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a − b over time, run by run on common seeds: the median difference, with 95 % intervals for any law.

    Runs of one seed and number draw the same uniforms and the same noise, so their differences vary less than they do.
    An interval inverts the sign test: it lies between two order statistics of the differences. Each holds at its own
    time, not all at once, and needs six common runs.

    Parameters
    ----------
    a, b
        Runs of the same instance with the same seed, as `simulate` returns them, or single cells of a sweep
        (`sweep.sel(explorer=…, epsilon=…)`).
    variable
        What to compare, any variable over replications and time; a logarithm ("log_error") is shown as log₁₀.
    labels
        What a and b are called on the axis.
    ax
        Matplotlib axes to draw on; new ones if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with the median difference as first line and 0 as second; x is logarithmic.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> explorers = feint.TopTwo(), feint.RoundRobin([1, 2, 3])
    >>> a, b = (feint.simulate(bandit, each, epsilon=0.1, horizon=1000, replications=20) for each in explorers)
    >>> axes = feint.plot.compare(a, b, labels=("Algorithm 1", "in turn"))
    >>> axes.get_ylabel()
    'log₁₀ of the error, Algorithm 1 − in turn'
    """
    one, other = (_single(runs, variable, name) for runs, name in zip((a, b), ("a", "b"), strict=True))
    _check_paired(one, other)
    runs = np.intersect1d(one["replication"].values, other["replication"].values)
    times = np.intersect1d(one["time"].values, other["time"].values)
    if not runs.size or not times.size:
        raise ValueError(
            "a and b have no run or no checkpoint in common; simulate both with the same replications and checkpoints."
        )
    pair = (data[variable].sel(replication=runs, time=times).transpose("replication", "time") for data in (one, other))
    first, second = (values.values for values in pair)
    is_log = variable.startswith("log_")
    axes = axes_or_new(ax)
    draw_band(axes, times, medians((first - second) / (math.log(10) if is_log else 1.0)), COLOURS[0], "median and 95 %")
    axes.axhline(0.0, color=GREY, linewidth=0.8, linestyle=":")
    name = variable.removeprefix("log_").replace("_", " ")
    axes.set(
        xscale="log",
        xlabel="pulls",
        ylabel=f"{'log₁₀ of the ' if is_log else ''}{name}, {labels[0]} − {labels[1]}",
    )
    axes.set_title(f"{runs.size} runs on common seeds, median and 95 %", fontsize=9)
    tidy(axes)
    return axes


def _single(runs: Any, variable: str, name: str) -> "xr.Dataset":
    found = labelled(runs, None, variable)
    if len(found) > 1:
        raise ValueError(f"{name} has {len(found)} cells; choose one with {name}.sel(…).")
    cell = found[0][1]
    if set(cell[variable].dims) != {"replication", "time"}:
        raise ValueError(f"variable is {variable!r}; give one over replications and time, such as 'log_error'.")
    return cell


def _check_paired(a: "xr.Dataset", b: "xr.Dataset") -> None:
    """Check that runs of equal number share their draws."""
    if int(a["seed"]) != int(b["seed"]):
        raise ValueError(f"a has seed {int(a['seed'])} and b {int(b['seed'])}; differences need the same seed.")
    for name in ("public_mean", "private_mean"):
        if not np.array_equal(a[name].values, b[name].values, equal_nan=True):
            raise ValueError(f"a and b differ in {name}: {a[name].values} and {b[name].values}; compare one instance.")
