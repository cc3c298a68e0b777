"""Figure 5 of the paper: q*(p) against its closed-form underestimate q-hat(p), ε = 0.1."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from feint.experiments.contract import Tick
from feint.experiments.findings import Finding
from feint.numerics import boost_probability, boost_probability_approx
from feint.support.figure_style import COLOURS, GREY, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: dict[str, Any] = {"epsilon": 0.1, "smallest_log10_p": -300, "points": 2000}
QUICK: dict[str, Any] = {}
FULL: dict[str, Any] = {}
CAPTION = "Figure 5: how far a budget of ε = {epsilon} raises a probability, exactly and by the paper's closed form."


def steps(settings: dict[str, Any]) -> int:
    """Return 1: there is one thing to do."""
    return 1


def run(settings: dict[str, Any], seed: int, tick: Tick) -> xr.Dataset:
    """Return both boosts over p from 10^smallest_log10_p to 1: half of the points evenly in log p, half evenly in p."""
    n = settings["points"] // 2
    p = np.unique(np.concatenate([np.logspace(settings["smallest_log10_p"], 0, n), np.linspace(0, 1, n + 1)[1:]]))
    epsilon = settings["epsilon"]
    data = xr.Dataset(
        {"exact": ("p", boost_probability(p, epsilon)), "approximate": ("p", boost_probability_approx(p, epsilon))},
        coords={"p": p},
        attrs={"epsilon": epsilon},
    )
    tick(1)
    return data


def plot(data: xr.Dataset) -> "Figure":
    """Draw the boosts on the paper's linear axes (left) and the share of q* that q-hat reaches (right)."""
    figure = new_figure(7.2, 2.9)
    left, right = figure.subplots(1, 2)
    p = data["p"].values
    left.plot(p, data["exact"], color=COLOURS[0], label=r"$q^*(p)$, exact")
    left.plot(p, data["approximate"], color=COLOURS[1], linestyle="--", label=r"$\hat q(p)$, closed form")
    left.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", label=r"$p$, no boost")
    left.set(xlabel=r"reference probability $p$", ylabel="boosted probability", xlim=(0, 1), ylim=(0, 1.03))
    left.legend(frameon=False, loc="lower right", fontsize=8)
    shown = p >= 1e-12
    right.semilogx(p[shown], (data["approximate"] / data["exact"])[shown], color=COLOURS[1])
    right.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    right.set(xlabel=r"reference probability $p$", ylabel=r"$\hat q(p)\,/\,q^*(p)$", xlim=(1e-12, 1), ylim=(0.6, 1.03))
    tidy(left, right)
    return figure


def claims(data: xr.Dataset, settings: dict[str, Any]) -> list[Finding]:
    """Test that q-hat never exceeds q*, and becomes exact as p falls."""
    ratio = (data["approximate"] / data["exact"]).values
    p = data["p"].values
    return [
        Finding(
            "q-hat ≤ q*",
            "a global underestimator of q*(p)",
            "largest q-hat/q*",
            *(float(ratio.max()),) * 3,
            at_most=1 + 2e-13,
            level=0.0,
            theorem=True,
        ),
        Finding(
            "q-hat becomes exact as p → 0",
            "becomes exact as p → 0",
            f"q-hat/q* at p = {p[0]:.0e}",
            *(float(ratio[0]),) * 3,
            at_least=0.99,
            level=0.0,
            theorem=True,
        ),
    ]
