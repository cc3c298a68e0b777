"""A figure of a sweep: error against time by budget, with one panel per bandit."""

import math
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from feint.support.figure_style import GREY, band, new_figure, ordered_colours, tidy
from feint.sweep.axes import AXES
from feint.sweep.summary import wanted_cells

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_COLUMNS = 3
_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")


def draw_sweep(data: "xr.Dataset") -> "Figure":
    """Draw the mean log₁₀ error with its 95 % band; colours go from small to large budgets, dashes tell explorers and
    references apart.
    """
    bandits = [str(label) for label in data["bandit"].values.tolist()]
    kinds = sorted({index[1:3] for index in wanted_cells(data)})
    if len(kinds) > len(_DASHES):
        raise ValueError(
            f"The sweep has {len(kinds)} pairs of explorer and reference; at most {len(_DASHES)} can be told apart in "
            "one figure: draw parts of it with feint.sweep.draw_sweep(data.isel(explorer=[…]))."
        )
    columns = min(_COLUMNS, len(bandits))
    rows = -(-len(bandits) // columns)
    figure = new_figure(3.2 * columns + 0.6, 2.4 * rows + 1.2)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False)
    colours = ordered_colours(data.sizes["epsilon"])
    for b, e, r, i in wanted_cells(data):
        cell = data.isel(dict(zip(AXES, (b, e, r, i), strict=True)))
        done = np.flatnonzero(cell["complete"].values)
        if done.size > 1:  # a band needs two runs
            values = cell["log_error"].values[done] / math.log(10)
            line = _DASHES[kinds.index((e, r))]
            band(panels[divmod(b, columns)], data["time"].values, values, colours[i], "", linestyle=line)
    for name, axes in zip_longest(bandits, panels.flat):
        axes.set_visible(name is not None)
        axes.set(xscale="log", xlabel="time $t$")
        axes.set_title(name, fontsize=10)
    figure.supylabel(r"$\log_{10}(1 - p^*_t)$, mean and 95 %", fontsize=10)
    _add_legend(figure, data, kinds, colours)
    tidy(*panels.flat)
    return figure


def _add_legend(figure: "Figure", data: "xr.Dataset", kinds: list[tuple[int, ...]], colours: Any) -> None:
    """Show below the panels which colour is which budget, and which dashes are which explorer."""
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=colour, label=f"ε = {label!s}")
        for colour, label in zip(colours, data["epsilon"].values.tolist(), strict=True)
    ]
    if len(kinds) > 1:
        for dashes, (e, r) in zip(_DASHES, kinds, strict=False):
            parts = [data["explorer"].values[e]] + (
                [data["reference"].values[r]] if data.sizes["reference"] > 1 else []
            )
            entries.append(Line2D([], [], color=GREY, linestyle=dashes, label=", ".join(map(str, parts))))
    columns = 2 if len(figure.axes) == 1 else 4
    figure.legend(handles=entries, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
