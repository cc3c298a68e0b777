"""Figure 5 of the paper: q*(p) against its closed-form underestimate q-hat(p), ε = 0.1."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.numerics import boost_probability, boost_probability_approx

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {"epsilon": 0.1, "smallest_log10_p": -12, "points": 600}


def run() -> xr.Dataset:
    """Both boosts over p from 10^smallest_log10_p to 1."""
    epsilon = SETTINGS["epsilon"]
    n = SETTINGS["points"] // 2  # half of them evenly in log p, half evenly in p
    p = np.unique(np.concatenate([np.logspace(SETTINGS["smallest_log10_p"], 0, n), np.linspace(0, 1, n + 1)[1:]]))
    return xr.Dataset(
        {"exact": ("p", boost_probability(p, epsilon)), "approximate": ("p", boost_probability_approx(p, epsilon))},
        coords={"p": p},
        attrs={"epsilon": epsilon},
    )


def plot(data: xr.Dataset) -> "Figure":
    """Left: the boosts on the paper's linear axes. Right: the share of q* that q-hat reaches, down to small p."""
    from matplotlib.figure import Figure

    exact, approximate, grey = "#0072b2", "#d55e00", "#777777"  # Okabe–Ito, safe for colour-blind readers
    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    p = data["p"].values
    left.plot(p, data["exact"], color=exact, label=r"$q^*(p)$, exact")
    left.plot(p, data["approximate"], color=approximate, linestyle="--", label=r"$\hat q(p)$, closed form")
    left.plot([0, 1], [0, 1], color=grey, linewidth=0.8, linestyle=":", label=r"$p$, no boost")
    left.set(xlabel=r"reference probability $p$", ylabel="boosted probability", xlim=(0, 1), ylim=(0, 1.03))
    left.legend(frameon=False, loc="lower right")
    right.semilogx(p, data["approximate"] / data["exact"], color=approximate)
    right.axhline(1.0, color=grey, linewidth=0.8, linestyle=":")
    right.set(xlabel=r"reference probability $p$", ylabel=r"$\hat q(p)\,/\,q^*(p)$", xlim=(p[0], 1), ylim=(0.6, 1.03))
    figure.suptitle(rf"The KL boost at $\varepsilon = {data.attrs['epsilon']:g}$", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
