"""What the pictures take: runs with labels, out of a data set, a dictionary of data sets or a sweep."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.registry import from_config
from feint.support.extras import need
from feint.support.figure_style import COLOURS, ordered_colours
from feint.support.intervals import gappy_median_interval

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

LEVEL = 0.05  # intervals miss with this probability
_INNER = ("replication", "time", "arm")

By = str | Sequence[str] | None


def labelled(runs: Any, by: By, needed: str) -> "list[tuple[str, xr.Dataset]]":
    """Return (label, data set over replications) for every curve; `needed` is the variable that will be drawn.

    A data set with further dimensions, such as a sweep, has a curve for every label along those in `by`: all that have
    several labels, if `by` is None. Cells in which nothing has been run are left out.
    """
    if isinstance(runs, Mapping) and not hasattr(runs, "dims"):
        found = [
            (", ".join(part for part in (str(name), label) if part), cell)
            for name, data in runs.items()
            for label, cell in _labelled_cells(data, by)
        ]
    else:
        found = list(_labelled_cells(runs, by))
    if not found:
        raise ValueError("There is nothing to draw: no runs were given, or none of the sweep's cells has been run.")
    for label, cell in found:
        if needed not in cell:
            hint = "; simulate with observe=True" if needed == "detection_time" else ""
            raise ValueError(f"The runs{' ' + repr(label) if label else ''} have no variable {needed!r}{hint}.")
    return found


def _labelled_cells(data: Any, by: By) -> "Iterator[tuple[str, xr.Dataset]]":
    if not hasattr(data, "data_vars") or "replication" not in data.dims:
        raise ValueError(
            f"Runs are {type(data).__name__}; give what feint.simulate or feint.open_sweep returns, with its dimension "
            "`replication`, or a dictionary of label: runs."
        )
    outer = [str(name) for name in data.dims if name not in _INNER]
    names = (
        [by] if isinstance(by, str) else [name for name in outer if data.sizes[name] > 1] if by is None else list(by)
    )
    for name in names:
        if name not in data.coords:
            raise ValueError(f"by names {name!r}; these runs have {', '.join(map(str, data.coords))}.")
    mixed = [name for name in outer if data.sizes[name] > 1 and name not in names]
    if mixed:
        raise ValueError(
            f"These runs differ in {' and '.join(mixed)} too; add it to `by`, or choose one with "
            f"runs.sel({mixed[0]}=…)."
        )
    for index in np.ndindex(*(data.sizes[name] for name in outer)):
        cell = data.isel(dict(zip(outer, index, strict=True)))
        if "complete" in cell:
            cell = cell.isel(replication=np.flatnonzero(cell["complete"].values))
        if cell.sizes["replication"]:
            yield ", ".join(_coordinate_label(name, cell[name].item()) for name in names), cell


def _coordinate_label(name: str, value: Any) -> str:
    text = f"{value:g}".replace("inf", "∞") if isinstance(value, float) else str(value)
    return {"epsilon": f"ε = {text}", "seed": f"seed {text}"}.get(name, text)


def bandit_of_runs(runs: "xr.Dataset") -> Bandit:
    """Return the instance of the runs, from what they say about themselves."""
    if "study" in runs.attrs:
        fields = json.loads(runs.attrs["study"])["bandits"][str(runs["bandit"].item())]
    else:
        fields = json.loads(runs.attrs["bandit"])
    families = tuple(from_config(family, "family") for family in fields["families"])
    return Bandit(fields["public"], fields["private"], family=families)


def medians(values: FloatArray) -> FloatArray:
    """Return (3, n): medians over replications (first axis) and their intervals between order statistics.

    A NaN counts as any value; where all are NaN, so is the median. With fewer than six runs intervals are infinite.
    """
    found = np.full((3, values.shape[1]), np.nan)
    for i in np.flatnonzero(~np.isnan(values).all(0)):
        found[:, i] = gappy_median_interval(values[:, i], LEVEL)
    return found


def colours_of(n: int, *, ordered: bool) -> Sequence[str]:
    """Return n colours: from dark to light for things in order, or for more than the palette has."""
    return ordered_colours(n) if ordered or n > len(COLOURS) else COLOURS[:n]


def axes_or_new(ax: "Axes | None", width: float = 6.4, height: float = 4.0) -> "Axes":
    """Return the axes given, or those of a new pyplot figure, which a notebook shows."""
    need("matplotlib", "A picture")
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def draw_band(axes: "Axes", x: FloatArray, triple: FloatArray, colour: str, label: str) -> None:
    """Draw a line and the band around it; where the band is infinite, only the line."""
    middle, low, high = triple
    finite = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(x, low, high, where=finite.tolist(), color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, middle, color=colour, label=label)
